{{/*
The configuration as the sidecar reads it: `config` as it is, and the files of `secrets`. Nothing else is added, so that
what is in the values is what is in force.
*/}}

{{- define "fencegate.configDirectory" -}}/etc/fencegate/config{{- end -}}
{{- define "fencegate.secretDirectory" -}}/etc/fencegate/secrets{{- end -}}
{{- define "fencegate.volumeDirectory" -}}/var/lib/fencegate{{- end -}}

{{/*
What each secret holds, as a list under "files": the Secret, its key, the file, and the key path of the configuration that
names the file.
*/}}
{{- define "fencegate.secretFiles" -}}
{{- $files := list -}}
{{- $places := list
  (list "upstreamAuth" "key" "upstream.auth.file")
  (list "upstreamTls" "ca" "upstream.tls.ca")
  (list "upstreamTls" "cert" "upstream.tls.cert")
  (list "upstreamTls" "key" "upstream.tls.key")
  (list "dataTls" "cert" "tls.cert")
  (list "dataTls" "key" "tls.key")
  (list "dataTls" "clientCa" "tls.clientCa")
  (list "adminTokens" "key" "admin.tokenFile")
  (list "operationsKey" "key" "operations.keyFile") -}}
{{- range $place := $places -}}
{{- $secret := index $.Values.secrets (index $place 0) -}}
{{- $key := index $secret (index $place 1) -}}
{{- if and $secret.existingSecret $key -}}
{{- $files = append $files (dict "secret" $secret.existingSecret "key" $key "path" (printf "%s/%s" (index $place 0) $key) "keyPath" (index $place 2)) -}}
{{- end -}}
{{- end -}}
{{- toYaml (dict "files" $files) -}}
{{- end -}}

{{- define "fencegate.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- range (include "fencegate.secretFiles" . | fromYaml).files -}}
{{- $node := $config -}}
{{- $steps := splitList "." .keyPath -}}
{{- range initial $steps -}}
{{- if not (hasKey $node .) -}}{{- $_ := set $node . dict -}}{{- end -}}
{{- $node = index $node . -}}
{{- end -}}
{{- if hasKey $node (last $steps) -}}
{{- fail (printf "config.%s: a Secret brings this file (secrets, key %s): take one of the two out." .keyPath .key) -}}
{{- end -}}
{{- $_ := set $node (last $steps) (printf "%s/%s" (include "fencegate.secretDirectory" $) .path) -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}
