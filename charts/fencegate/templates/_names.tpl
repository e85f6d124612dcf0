{{/* Names, labels and small readers of values. */}}

{{- define "fencegate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* With room for what is appended to it. */}}
{{- define "fencegate.fullname" -}}
{{- $name := include "fencegate.name" . -}}
{{- $full := printf "%s-%s" .Release.Name $name -}}
{{- if contains $name .Release.Name -}}{{- $full = .Release.Name -}}{{- end -}}
{{- default $full .Values.fullnameOverride | trunc 44 | trimSuffix "-" -}}
{{- end -}}

{{- define "fencegate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "fencegate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: enforcer
{{- end -}}

{{- define "fencegate.commonLabels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/name: {{ include "fencegate.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{/* The metadata of an object: (list . NAME COMPONENT LABELS ANNOTATIONS [NAMESPACE]). */}}
{{- define "fencegate.metadata" -}}
{{- $root := index . 0 -}}
{{- $labels := merge (dict "app.kubernetes.io/component" (index . 2)) (include "fencegate.commonLabels" $root | fromYaml) -}}
{{- $labels = merge $labels (default dict (index . 3)) $root.Values.commonLabels -}}
{{- $annotations := merge (deepCopy (default dict (index . 4))) $root.Values.commonAnnotations -}}
name: {{ index . 1 }}
namespace: {{ if gt (len .) 5 }}{{ default $root.Release.Namespace (index . 5) }}{{ else }}{{ $root.Release.Namespace }}{{ end }}
labels: {{- toYaml $labels | nindent 2 }}
{{- with $annotations }}
annotations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The labels of the pod with the enforcer in it. */}}
{{- define "fencegate.podSelector" -}}
{{- if eq .Values.mode "sidecar" -}}
{{- toYaml .Values.resource.podLabels -}}
{{- else -}}
{{- include "fencegate.selectorLabels" . -}}
{{- end -}}
{{- end -}}

{{- define "fencegate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "fencegate.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "fencegate.image" -}}
{{- $repository := required "image.repository: no image of fencegate is published. Build one from the repository's Dockerfile, push it to a registry of yours, and name it here." .Values.image.repository -}}
{{- with .Values.image.digest -}}
{{- printf "%s@%s" $repository . -}}
{{- else -}}
{{- printf "%s:%s" $repository (default .Chart.AppVersion .Values.image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Whole seconds of a duration of the configuration, rounded up. */}}
{{- define "fencegate.seconds" -}}
{{- $digits := regexFind "^[0-9]+" . | int64 -}}
{{- if hasSuffix "ms" . -}}{{ div (add $digits 999) 1000 }}
{{- else if hasSuffix "h" . -}}{{ mul $digits 3600 }}
{{- else if hasSuffix "m" . -}}{{ mul $digits 60 }}
{{- else -}}{{ $digits }}
{{- end -}}
{{- end -}}

{{/* The port of HOST:PORT. */}}
{{- define "fencegate.port" -}}
{{- regexFind "[0-9]+$" . -}}
{{- end -}}

{{/* The port of a URL, by its scheme if it names none. */}}
{{- define "fencegate.urlPort" -}}
{{- $url := urlParse (default "" .) -}}
{{- $port := regexFind ":[0-9]+$" $url.host | trimPrefix ":" -}}
{{- default (ternary "443" "80" (eq $url.scheme "https")) $port -}}
{{- end -}}

{{/* The StatefulSet with the enforcer in it: the resource's, or the chart's own. */}}
{{- define "fencegate.statefulSetName" -}}
{{- ternary .Values.sidecar.statefulSetName (include "fencegate.fullname" .) (eq .Values.mode "sidecar") -}}
{{- end -}}

{{/* The claim of the store: one that there is, or the one that the StatefulSet makes. */}}
{{- define "fencegate.claimName" -}}
{{- default (printf "fencegate-store-%s-0" (include "fencegate.statefulSetName" .)) .Values.persistence.existingClaim -}}
{{- end -}}

{{/* That of a StatefulSet that is there stays, though the cluster has become newer: it can't be changed. */}}
{{- define "fencegate.accessMode" -}}
{{- $best := ternary "ReadWriteOncePod" "ReadWriteOnce" (semverCompare ">=1.29.0-0" .Capabilities.KubeVersion.Version) -}}
{{- if and .Release.IsUpgrade (not .Values.persistence.accessMode) -}}
{{- $set := lookup "apps/v1" "StatefulSet" .Release.Namespace (include "fencegate.statefulSetName" .) -}}
{{- range dig "spec" "volumeClaimTemplates" list $set -}}
{{- if eq .metadata.name "fencegate-store" -}}{{- $best = first .spec.accessModes -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $mode := default $best .Values.persistence.accessMode -}}
{{- if not (has $mode (list "ReadWriteOncePod" "ReadWriteOnce")) -}}
{{- fail (printf "persistence.accessMode: %s: two pods with one store would be two enforcers: write ReadWriteOncePod or ReadWriteOnce." $mode) -}}
{{- end -}}
{{- $mode -}}
{{- end -}}

{{- define "fencegate.gracePeriod" -}}
{{- $shutdown := default dict .Values.config.shutdown -}}
{{- $delay := include "fencegate.seconds" (default "3s" $shutdown.delay) | int64 -}}
{{- $deadline := include "fencegate.seconds" (default "25s" $shutdown.deadline) | int64 -}}
{{- default (add $delay $deadline 15) .Values.terminationGracePeriodSeconds -}}
{{- end -}}
