{{/* What the standalone pod and the resource's own pod have in common: the container, its volumes and annotations. */}}

{{/* HOST:PORT and paths come again as variables, because those of the image would beat the file. */}}
{{- define "fencegate.container" -}}
{{- $values := .Values -}}
name: fencegate
image: {{ include "fencegate.image" . }}
imagePullPolicy: {{ $values.image.pullPolicy }}
args: [serve, --config, {{ include "fencegate.configDirectory" . }}/fencegate.yaml]
env:
  - name: FENCEGATE_LISTEN
    value: {{ $values.config.listen | quote }}
  - name: FENCEGATE_ADMIN
    value: {{ $values.config.admin.listen | quote }}
  - name: FENCEGATE_DATA
    value: {{ $values.config.store.path | quote }}
  # For sorts that don't fit into memory; nothing else of the file system can be written.
  - name: SQLITE_TMPDIR
    value: {{ include "fencegate.volumeDirectory" . }}
  {{- with $values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with $values.extraEnvFrom }}
envFrom: {{- toYaml . | nindent 2 }}
{{- end }}
ports:
  - name: fencegate
    containerPort: {{ include "fencegate.port" $values.config.listen }}
    protocol: TCP
  - name: fencegate-admin
    containerPort: {{ include "fencegate.port" $values.config.admin.listen }}
    protocol: TCP
startupProbe: {{- include "fencegate.probe" (list . "/livez" (include "fencegate.startupProbe" . | fromYaml)) | nindent 2 }}
livenessProbe: {{- include "fencegate.probe" (list . "/livez" $values.livenessProbe) | nindent 2 }}
readinessProbe: {{- include "fencegate.probe" (list . "/readyz" $values.readinessProbe) | nindent 2 }}
{{- with $values.lifecycle }}
lifecycle: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.resources }}
resources: {{- toYaml . | nindent 2 }}
{{- end }}
securityContext: {{- toYaml $values.securityContext | nindent 2 }}
volumeMounts:
  - name: fencegate-store
    mountPath: {{ include "fencegate.volumeDirectory" . }}
  - name: fencegate-config
    mountPath: {{ include "fencegate.configDirectory" . }}
    readOnly: true
  {{- if (include "fencegate.secretFiles" . | fromYaml).files }}
  - name: fencegate-secrets
    mountPath: {{ include "fencegate.secretDirectory" . }}
    readOnly: true
  {{- end }}
  {{- with $values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* (list . PATH PROBE) */}}
{{- define "fencegate.probe" -}}
{{- $probe := deepCopy (index . 2) -}}
{{- if not (or $probe.exec $probe.tcpSocket $probe.grpc $probe.httpGet) -}}
{{- $_ := set $probe "httpGet" (dict "path" (index . 1) "port" "fencegate-admin") -}}
{{- end -}}
{{- toYaml $probe -}}
{{- end -}}

{{/* The admin port answers before the store is locked; still, a start that waits must not be killed. */}}
{{- define "fencegate.startupProbe" -}}
{{- $probe := deepCopy .Values.startupProbe -}}
{{- if kindIs "invalid" $probe.failureThreshold -}}
{{- $seconds := add 60 (include "fencegate.seconds" .Values.config.store.lockWait) -}}
{{- $_ := set $probe "failureThreshold" (div (add $seconds $probe.periodSeconds -1) $probe.periodSeconds) -}}
{{- end -}}
{{- toYaml $probe -}}
{{- end -}}

{{/* Whole directories, so that what changes in them is seen without a restart. */}}
{{- define "fencegate.volumes" -}}
- name: fencegate-config
  configMap:
    name: {{ include "fencegate.fullname" . }}
{{- with (include "fencegate.secretFiles" . | fromYaml).files }}
- name: fencegate-secrets
  projected:
    # 0440: for the pod's fsGroup and nobody else.
    defaultMode: 288
    sources:
      {{- range . }}
      - secret:
          name: {{ .secret }}
          items:
            - key: {{ .key }}
              path: {{ .path }}
      {{- end }}
{{- end }}
{{- with .Values.persistence.existingClaim }}
- name: fencegate-store
  persistentVolumeClaim:
    claimName: {{ . }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* An item of volumeClaimTemplates, or nothing if there is a claim. */}}
{{- define "fencegate.volumeClaimTemplate" -}}
{{- if not .Values.persistence.existingClaim -}}
- metadata:
    name: fencegate-store
    {{- /* Nothing common to all objects: Kubernetes refuses each change of a template of claims, and the upgrade with it. */}}
    {{- with .Values.persistence.labels }}
    labels: {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- with .Values.persistence.annotations }}
    annotations: {{- toYaml . | nindent 6 }}
    {{- end }}
  spec: {{- include "fencegate.claimSpec" . | nindent 4 }}
{{- end -}}
{{- end -}}

{{- define "fencegate.claimSpec" -}}
accessModes: [{{ include "fencegate.accessMode" . }}]
{{- with .Values.persistence.storageClassName }}
storageClassName: {{ . }}
{{- end }}
resources:
  requests:
    storage: {{ .Values.persistence.size }}
{{- end -}}

{{- define "fencegate.podAnnotations" -}}
{{- $annotations := dict -}}
{{- if .Values.restartOnConfigChange -}}
{{- $_ := set $annotations "checksum/config" (include "fencegate.config" . | sha256sum) -}}
{{- end -}}
{{- $annotations = merge $annotations (include "fencegate.meshAnnotations" . | fromYaml) .Values.podAnnotations -}}
{{- if $annotations -}}{{- toYaml $annotations -}}{{- end -}}
{{- end -}}

{{/* The proxy of a mesh would retry what the resource refused, behind the fence and unseen by it. */}}
{{- define "fencegate.meshAnnotations" -}}
{{- $urls := list .Values.config.upstream.url -}}
{{- range .Values.config.routes -}}
{{- with .upstream -}}{{- with .url -}}{{- $urls = append $urls . -}}{{- end -}}{{- end -}}
{{- end -}}
{{- $ports := list -}}
{{- range $urls -}}
{{- /* Loopback is not in the mesh; the port may be, on other pods. */}}
{{- if not (regexMatch "^https?://(127[.]|localhost(:|/|$)|\\[::1\\])" (default "" .)) -}}{{- $ports = append $ports (include "fencegate.urlPort" .) -}}{{- end -}}
{{- end -}}
{{- with .Values.mesh.skipPorts -}}{{- $ports = list -}}{{- range . -}}{{- $ports = append $ports (toString .) -}}{{- end -}}{{- end -}}
{{- $skipped := uniq $ports | join "," -}}
{{- if not $skipped -}}
{{- else if eq .Values.mesh.provider "istio" -}}
traffic.sidecar.istio.io/excludeOutboundPorts: {{ $skipped | quote }}
{{- else if eq .Values.mesh.provider "linkerd" -}}
config.linkerd.io/skip-outbound-ports: {{ $skipped | quote }}
{{- end -}}
{{- end -}}
