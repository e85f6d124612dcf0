{{/*
For other charts: the sidecar in the resource's own pod. Each takes the context of this chart, which a chart that depends on
it has as .Subcharts.fencegate. README.md shows where each belongs, examples/ledger is a whole chart.
*/}}

{{- define "fencegate.sidecar.isNative" -}}
{{- $native := semverCompare ">=1.29.0-0" .Capabilities.KubeVersion.Version -}}
{{- if not (kindIs "invalid" .Values.sidecar.native) -}}{{- $native = .Values.sidecar.native -}}{{- end -}}
{{- if $native -}}true{{- end -}}
{{- end -}}

{{/* Items of initContainers: the native sidecar, which runs before the resource starts and until it has ended. */}}
{{- define "fencegate.sidecar.initContainers" -}}
{{- include "fencegate.sidecar.requireMode" . -}}
{{- if include "fencegate.sidecar.isNative" . -}}
- restartPolicy: Always
  {{- include "fencegate.container" . | nindent 2 }}
{{- end -}}
{{- end -}}

{{/* Items of containers, where Kubernetes has no native sidecars. */}}
{{- define "fencegate.sidecar.containers" -}}
{{- include "fencegate.sidecar.requireMode" . -}}
{{- if not (include "fencegate.sidecar.isNative" .) -}}
- {{ include "fencegate.container" . | nindent 2 | trim }}
{{- end -}}
{{- end -}}

{{/* Items of volumes. */}}
{{- define "fencegate.sidecar.volumes" -}}
{{- include "fencegate.volumes" . -}}
{{- end -}}

{{/* Items of volumeClaimTemplates; nothing if persistence.existingClaim is set. */}}
{{- define "fencegate.sidecar.volumeClaimTemplates" -}}
{{- include "fencegate.volumeClaimTemplate" . -}}
{{- end -}}

{{/* Annotations of the pod. */}}
{{- define "fencegate.sidecar.podAnnotations" -}}
{{- include "fencegate.podAnnotations" . -}}
{{- end -}}

{{/* The replicas of the resource, which must be one: (list .Subcharts.fencegate REPLICAS). */}}
{{- define "fencegate.sidecar.replicas" -}}
{{- if ne (int (index . 1)) 1 -}}
{{- fail (printf "%v replicas of the resource, each with a sidecar of its own: these do not fence each other. Run one, or put one enforcer before them all (mode: standalone)." (index . 1)) -}}
{{- end -}}
1
{{- end -}}

{{/* The pod's grace, for a resource that itself takes SECONDS to stop: (list .Subcharts.fencegate SECONDS). */}}
{{- define "fencegate.sidecar.terminationGracePeriodSeconds" -}}
{{- add (include "fencegate.gracePeriod" (index . 0)) (index . 1) -}}
{{- end -}}

{{- define "fencegate.sidecar.requireMode" -}}
{{- if ne .Values.mode "sidecar" -}}
{{- fail "fencegate.mode: set it to sidecar in the values of the chart that includes fencegate.sidecar templates; otherwise a second enforcer is installed beside the first." -}}
{{- end -}}
{{- end -}}
