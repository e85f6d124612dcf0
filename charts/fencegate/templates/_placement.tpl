{{/* Where pods of the chart run, and as whom: of the StatefulSet and of the Job that makes its store. */}}
{{- define "fencegate.placement" -}}
securityContext: {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- range $key := list "imagePullSecrets" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" "priorityClassName" "runtimeClassName" "schedulerName" "hostAliases" "dnsPolicy" "dnsConfig" }}
{{- with index $.Values $key }}
{{ $key }}: {{- if kindIs "string" . }} {{ . }}{{ else }}{{- toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}
