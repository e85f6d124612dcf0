{{/*
What the schema can't see, and the reasons of what it refuses, for those who skip it. Every message names the value, its
fault and the remedy.
*/}}
{{- define "fencegate.validate" -}}
{{- $values := .Values -}}
{{- if ne (int $values.replicaCount) 1 -}}
{{- fail (printf "replicaCount: %v: two enforcers before one resource do not fence each other, whatever their stores. There is 1; for more resources, install the chart once for each." $values.replicaCount) -}}
{{- end -}}
{{- if or (hasKey $values.persistence "emptyDir") (eq (get $values.persistence "enabled" | toString) "false") -}}
{{- fail "persistence: an emptyDir goes with its pod, and the marks in it with it: stale holders could then write again. The store needs a PersistentVolumeClaim." -}}
{{- end -}}
{{- if ne $values.config.store.create "never" -}}
{{- fail (printf "config.store.create: %s: a start that misses its store must not make an empty one, in which stale holders could write again. The store is made once, by init.enabled." $values.config.store.create) -}}
{{- end -}}
{{- if not (hasPrefix (printf "%s/" (include "fencegate.volumeDirectory" .)) $values.config.store.path) -}}
{{- fail (printf "config.store.path: %s is not within %s, where the store's volume is: name a directory in it." $values.config.store.path (include "fencegate.volumeDirectory" .)) -}}
{{- end -}}
{{- range $values.extraVolumeMounts -}}
{{- if hasPrefix (printf "%s/" (include "fencegate.volumeDirectory" $)) (printf "%s/" .mountPath) -}}
{{- fail (printf "extraVolumeMounts: %s is mounted over the store's volume, and would hide the marks: mount it elsewhere." .mountPath) -}}
{{- end -}}
{{- end -}}
{{- range $values.extraEnv -}}
{{- if hasPrefix "FENCEGATE_" .name -}}
{{- fail (printf "extraEnv: %s would beat the configuration, and the Service, probes and policies would be those of another one: set it in config." .name) -}}
{{- end -}}
{{- end -}}
{{- $_ := required "config.upstream.url: name the resource, such as http://ledger:9200; in mode sidecar http://127.0.0.1 and its port." $values.config.upstream.url -}}
{{- $_ := include "fencegate.image" . -}}
{{- range $key, $listen := dict "config.listen" $values.config.listen "config.admin.listen" $values.config.admin.listen -}}
{{- if regexMatch "^(127\\.|localhost:|\\[::1\\])" $listen -}}
{{- fail (printf "%s: %s is reached from within the pod alone: write 0.0.0.0 and the port. NetworkPolicies say who comes near." $key $listen) -}}
{{- end -}}
{{- if eq (include "fencegate.port" $listen) "0" -}}
{{- fail (printf "%s: %s is any free port, which no Service can lead to: name one." $key $listen) -}}
{{- end -}}
{{- end -}}
{{- if and .Release.IsInstall (kindIs "invalid" $values.init.enabled) -}}
{{- fail "init.enabled: say true for a new resource, so that this install makes a store, or false if the claim holds one already. It is never made unasked, because an empty store forgets every mark." -}}
{{- end -}}
{{- if and $values.resource.networkPolicy.enabled (not $values.resource.podLabels) -}}
{{- fail "resource.podLabels: name the labels of the resource's pods, so that a NetworkPolicy lets only the sidecar reach them. If the resource is outside of this cluster, close it there, and set resource.networkPolicy.enabled to false." -}}
{{- end -}}
{{- if eq $values.mode "sidecar" -}}
{{- if not $values.resource.podLabels -}}
{{- fail "resource.podLabels: in mode sidecar the Service and the policies select the resource's pod by them." -}}
{{- end -}}
{{- if and (not $values.persistence.existingClaim) (not $values.sidecar.statefulSetName) -}}
{{- fail "sidecar.statefulSetName: name the resource's StatefulSet, whose claim holds the store, or a claim in persistence.existingClaim." -}}
{{- end -}}
{{- end -}}
{{- if and $values.serviceMonitor.enabled $values.podMonitor.enabled -}}
{{- fail "serviceMonitor, podMonitor: with both, every series is there twice: enable one." -}}
{{- end -}}
{{- include "fencegate.validateTimes" . -}}
{{- end -}}

{{/* A predecessor ends by itself before it is killed, and its successor waits for longer than that. */}}
{{- define "fencegate.validateTimes" -}}
{{- $shutdown := default dict .Values.config.shutdown -}}
{{- $stop := add (include "fencegate.seconds" (default "3s" $shutdown.delay)) (include "fencegate.seconds" (default "25s" $shutdown.deadline)) -}}
{{- $grace := include "fencegate.gracePeriod" . | int64 -}}
{{- if le $grace (int64 $stop) -}}
{{- fail (printf "terminationGracePeriodSeconds: %d: the sidecar would be killed before it has stopped (config.shutdown: delay and deadline, %d s together), an unclean stop: raise it above that." $grace $stop) -}}
{{- end -}}
{{- $lockWait := include "fencegate.seconds" .Values.config.store.lockWait | int64 -}}
{{- if le $lockWait (int64 $stop) -}}
{{- fail (printf "config.store.lockWait: %d s: a successor must wait for longer than its predecessor may take to stop (config.shutdown: %d s): raise it above that." $lockWait $stop) -}}
{{- end -}}
{{- end -}}
