{{- define "warmpath.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 34 | trimSuffix "-" -}}
{{- else -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 34 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 34 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What never changes in a release's life. Takes root and component. */}}
{{- define "warmpath.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- with .entry }}
warmpath.dev/worker: {{ . }}
{{- end }}
{{- end -}}

{{- define "warmpath.labels" -}}
{{ include "warmpath.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* Takes root, image: {repository, tag, digest}, and flavour: what a tag that the entry does not name ends with. */}}
{{- define "warmpath.image" -}}
{{- $name := .image.repository -}}
{{- with .root.Values.image.registry -}}{{- $name = printf "%s/%s" . $name -}}{{- end -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- $common := default .root.Chart.AppVersion .root.Values.image.tag -}}
{{- printf "%s:%s" $name (default (printf "%s%s" $common (default "" .flavour)) .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Takes root and worker. */}}
{{- define "warmpath.workerImage" -}}
{{- $computes := eq .worker.engine.kind "own" -}}
{{- $flavour := ternary "-cuda" "" (and $computes .worker.gpu.enabled) -}}
{{- include "warmpath.image" (dict "root" .root "image" .worker.image "flavour" $flavour) -}}
{{- end -}}

{{- define "warmpath.tokensSecret" -}}
{{- default (printf "%s-tokens" (include "warmpath.fullname" .)) .Values.tokens.existingSecret -}}
{{- end -}}

{{- define "warmpath.apiKeysSecret" -}}
{{- default (printf "%s-api-keys" (include "warmpath.fullname" .)) .Values.router.apiKeys.existingSecret -}}
{{- end -}}

{{/* Where the key is that was made, or one that others put beside their file. */}}
{{- define "warmpath.operatorKeySecret" -}}
{{- default (printf "%s-operator-key" (include "warmpath.fullname" .)) .Values.router.apiKeys.existingSecret -}}
{{- end -}}

{{/* The one that was made. */}}
{{- define "warmpath.operatorKey" -}}
{{- $secret := include "warmpath.operatorKeySecret" . -}}
{{- $kept := include "warmpath.kept" (dict "root" . "secret" $secret "keys" (list "operator-key")) | fromJson -}}
wp-{{ get $kept "operator-key" | trimPrefix "wp-" }}
{{- end -}}

{{- define "warmpath.redisSecret" -}}
{{- if .Values.redis.auth.existingSecret -}}
{{- .Values.redis.auth.existingSecret -}}
{{- else if eq .Values.redis.mode "builtin" -}}
{{- include "warmpath.fullname" . }}-redis
{{- end -}}
{{- end -}}

{{/*
Values that were made once and must stay: as the cluster has them, else new ones. Templates that ask again get the same
answer. Takes root, secret and a list of keys; gives JSON.
*/}}
{{- define "warmpath.kept" -}}
{{- $known := default dict (get .root "warmpathKept") -}}
{{- if not (hasKey $known .secret) -}}
  {{- $there := default dict (lookup "v1" "Secret" .root.Release.Namespace .secret).data -}}
  {{- $made := dict -}}
  {{- range .keys -}}
    {{- $_ := set $made . (hasKey $there . | ternary (get $there . | b64dec) (randBytes 32 | sha256sum)) -}}
  {{- end -}}
  {{- $_ := set $known .secret $made -}}
  {{- $_ := set .root "warmpathKept" $known -}}
{{- end -}}
{{- get $known .secret | toJson -}}
{{- end -}}

{{/*
Changes when the tokens do, so that pods are started anew with them. A few digits of a digest: enough to tell, and too
little to try tokens against.
*/}}
{{- define "warmpath.tokensVersion" -}}
{{- $secret := include "warmpath.tokensSecret" . -}}
{{- $keys := list .Values.tokens.fleetKey .Values.tokens.managementKey -}}
{{- if .Values.tokens.existingSecret -}}
{{- $data := default dict (lookup "v1" "Secret" .Release.Namespace $secret).data -}}
{{- pick $data (first $keys) (last $keys) | toJson | sha256sum | trunc 8 -}}
{{- else -}}
{{- include "warmpath.kept" (dict "root" . "secret" $secret "keys" $keys) | sha256sum | trunc 8 -}}
{{- end -}}
{{- end -}}

{{/* The same of Redis' users and passwords, which it reads only when it starts; nothing where there is no Secret. */}}
{{- define "warmpath.redisVersion" -}}
{{- $auth := .Values.redis.auth -}}
{{- $secret := include "warmpath.redisSecret" . -}}
{{- $keys := list $auth.routerPasswordKey $auth.workerPasswordKey -}}
{{- if and $auth.existingSecret (ne .Values.redis.mode "none") -}}
{{- $data := default dict (lookup "v1" "Secret" .Release.Namespace $secret).data -}}
{{- pick $data (first $keys) (last $keys) "users.acl" | toJson | sha256sum | trunc 8 -}}
{{- else if eq .Values.redis.mode "builtin" -}}
{{- $kept := include "warmpath.kept" (dict "root" . "secret" $secret "keys" $keys) -}}
{{- list $kept $auth.routerUsername $auth.workerUsername | toJson | sha256sum | trunc 8 -}}
{{- end -}}
{{- end -}}

{{- define "warmpath.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "warmpath.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* What every pod has in common. */}}
{{- define "warmpath.pod" -}}
serviceAccountName: {{ .Values.serviceAccountName }}
automountServiceAccountToken: false
# the environment that Kubernetes makes of Services would be read as settings: SERVER_PORT, WARMPATH_…
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  {{- include "warmpath.podSecurity" . | nindent 2 }}
{{- end -}}

{{/* Where pods may run. Takes root, component, entry (or none) and of: the values. */}}
{{- define "warmpath.placement" -}}
{{- with .of.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .of.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- if .of.topologySpread }}
topologySpreadConstraints:
  {{- range .of.topologySpread }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "warmpath.selector" $ | nindent 8 }}
    # those of a roll-out among themselves: what they replace is going
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- end }}
{{- end -}}

{{/* Heap by the memory limit. The launcher of Java reads this variable before its arguments. Takes jvm. */}}
{{- define "warmpath.jvmEnv" -}}
- name: JDK_JAVA_OPTIONS
  {{- $heap := printf "-XX:MaxRAMPercentage=%v" .maxRamPercentage }}
  {{- $direct := printf "-XX:MaxDirectMemorySize=%s" .maxDirectMemory }}
  value: {{ concat (list $heap $direct) .options | join " " | quote }}
{{- end -}}

{{/* 1000000, not 1e+06. */}}
{{- define "warmpath.scalar" -}}
{{- if and (kindIs "float64" .) (eq (floor .) .) -}}{{ int64 . }}{{- else -}}{{ . }}{{- end -}}
{{- end -}}

{{/* Settings as environment: {kv: {block-size: 16}} is WARMPATH_KV_BLOCKSIZE=16. Takes prefix and settings. */}}
{{- define "warmpath.settingsEnv" -}}
{{- range $key, $value := .settings }}
{{- $name := printf "%s_%s" $.prefix ($key | replace "-" "" | upper) }}
{{- if has $key (list "revision-weights" "pinned-revisions") }}
{{- else if kindIs "map" $value }}
{{- include "warmpath.settingsEnv" (dict "prefix" $name "settings" $value) }}
{{- else if kindIs "slice" $value }}
- name: {{ $name }}
  value: {{ join "," $value | quote }}
{{- else }}
- name: {{ $name }}
  value: {{ include "warmpath.scalar" $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Takes root, name and key: the token, and while it is changed the one until now. */}}
{{- define "warmpath.tokenEnv" -}}
- name: {{ .name }}_TOKEN
  valueFrom:
    secretKeyRef:
      name: {{ include "warmpath.tokensSecret" .root }}
      key: {{ .key }}
{{- with .root.Values.tokens.previousSecret }}
- name: {{ $.name }}_PREVIOUSTOKEN
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: {{ $.key }}
{{- end }}
{{- end -}}

{{/* Takes root and who: router or worker. */}}
{{- define "warmpath.redisEnv" -}}
{{- $redis := .root.Values.redis -}}
{{- if ne $redis.mode "none" }}
- name: WARMPATH_REDIS_URI
  value: {{ include "warmpath.redisUri" .root | quote }}
{{- if eq $redis.mode "cluster" }}
- name: WARMPATH_REDIS_CLUSTER
  value: "true"
{{- end }}
{{- $user := get $redis.auth (printf "%sUsername" .who) }}
{{- if and (eq $redis.mode "builtin") (not $user) }}
{{- $user = printf "warmpath-%s" .who }}
{{- end }}
{{- with $user }}
- name: WARMPATH_REDIS_USERNAME
  value: {{ . }}
{{- end }}
{{- with include "warmpath.redisSecret" .root }}
- name: WARMPATH_REDIS_PASSWORD
  valueFrom:
    secretKeyRef:
      name: {{ . }}
      key: {{ get $redis.auth (printf "%sPasswordKey" $.who) }}
{{- end }}
{{- if $redis.ca.existingSecret }}
- name: WARMPATH_REDIS_CACERTIFICATE
  value: /etc/warmpath/redis/{{ $redis.ca.key }}
{{- end }}
{{- include "warmpath.settingsEnv" (dict "prefix" "WARMPATH_REDIS" "settings" $redis.settings) }}
{{- end }}
{{- end -}}

{{- define "warmpath.redisUri" -}}
{{- $redis := .Values.redis -}}
{{- $scheme := ternary "rediss" "redis" $redis.tls -}}
{{- if eq $redis.mode "builtin" -}}
redis://{{ include "warmpath.fullname" . }}-redis:6379
{{- else if eq $redis.mode "sentinel" -}}
{{ $scheme }}-sentinel://{{ join "," $redis.hosts }}#{{ $redis.sentinelPrimary }}
{{- else -}}
{{ $scheme }}://{{ join "," $redis.hosts }}
{{- end -}}
{{- end -}}

{{/* All entries of workers, each with what it does not say itself, as JSON. */}}
{{- define "warmpath.workers" -}}
{{- $workers := list -}}
{{- $names := list -}}
{{- range .Values.workers -}}
{{- if has .name $names -}}{{- fail (printf "workers has two entries named %q" .name) -}}{{- end -}}
{{- $names = append $names .name -}}
{{- $worker := mergeOverwrite (deepCopy $.Values.workerDefaults) (deepCopy .) -}}
{{- if and (eq $worker.model.source "pvc") (not $worker.model.claim) -}}
{{- fail (printf "the model of worker %q is in a claim that model.claim does not name" .name) -}}
{{- end -}}
{{- if and (eq $worker.model.source "download") (not $worker.model.download.files) -}}
{{- fail (printf "the model of worker %q is to be downloaded, but model.download.files names no files" .name) -}}
{{- end -}}
{{- include "warmpath.requireEngine" (dict "worker" $worker "said" (default dict .engine)) -}}
{{- $workers = append $workers $worker -}}
{{- end -}}
{{- $workers | toJson -}}
{{- end -}}

{{/*
Refuses what does not go with an engine, or only with one. Takes worker and said: what its entry itself says of the
engine, for a default that means nothing here may mean something to other entries. Gives nothing.
*/}}
{{- define "warmpath.requireEngine" -}}
{{- $said := .said -}}
{{- with .worker -}}
{{- $it := printf "worker %q" .name -}}
{{- $engine := .engine -}}
{{- if ne (int .gpu.count) 1 -}}
{{- if not .gpu.enabled -}}
{{- fail (printf "%s has no card, but gpu.count is %v: gpu.enabled must say that it has" $it .gpu.count) -}}
{{- end -}}
{{- if .gpu.resourceClaimTemplate -}}
{{- fail (printf "%s has the cards of gpu.resourceClaimTemplate, which says how many: gpu.count means nothing" $it) -}}
{{- end -}}
{{- end -}}
{{- if eq $engine.kind "own" -}}
{{- if or $engine.url $engine.image.repository -}}
{{- fail (printf "%s has an engine, but engine.kind does not say which: vllm, sglang or openai" $it) -}}
{{- end -}}
{{- range $key, $value := omit $said "kind" -}}
{{- if $value -}}
{{- fail (printf "%s has engine.%s, but engine.kind does not say which: vllm, sglang or openai" $it $key) -}}
{{- end -}}
{{- end -}}
{{- if ne (int .gpu.count) 1 -}}
{{- fail (printf "%s computes on one card, but gpu.count is %v: one replica for each card" $it .gpu.count) -}}
{{- end -}}
{{- else -}}
{{- if not .model.name -}}
{{- fail (printf "%s stands beside an engine: model.name must say what clients call its model" $it) -}}
{{- end -}}
{{- if and (eq .model.source "image") (eq .model.path "/models/warmpath-tiny") -}}
{{- fail (printf "%s stands beside an engine: model must say where that one's tokenizer is" $it) -}}
{{- end -}}
{{- if ne .model.quantization "none" -}}
{{- fail (printf "%s stands beside an engine, whose weights are its own: model.quantization means nothing" $it) -}}
{{- end -}}
{{- range $capability := list "compute" "scheduler" -}}
{{- if hasKey $.worker.settings $capability -}}
{{- fail (printf "%s stands beside an engine and computes nothing: settings.%s means nothing" $it $capability) -}}
{{- end -}}
{{- end -}}
{{- if $engine.url -}}
{{- if $engine.image.repository -}}
{{- fail (printf "the engine of %s runs at engine.url, and in its pod by engine.image: only one can be" $it) -}}
{{- end -}}
{{- if .gpu.enabled -}}
{{- fail (printf "the engine of %s runs at engine.url, where its card is: gpu.enabled means nothing" $it) -}}
{{- end -}}
{{- if or (gt (int .replicas) 1) (ne .autoscaling.mode "none") -}}
{{- fail (printf "%s stands beside the one engine at engine.url: one replica, and an entry for each engine" $it) -}}
{{- end -}}
{{- range $key, $value := omit $said "kind" "url" "eventPorts" "model" "apiKeySecret" "apiKeyKey" "image" -}}
{{- if $value -}}
{{- fail (printf "the engine of %s runs at engine.url, where it was started: engine.%s means nothing" $it $key) -}}
{{- end -}}
{{- end -}}
{{- else if not $engine.image.repository -}}
{{- fail (printf "%s stands beside an engine: engine.image or engine.url must say which" $it) -}}
{{- else if not (or $engine.image.tag $engine.image.digest) -}}
{{- fail (printf "the engine of %s needs engine.image.tag or engine.image.digest" $it) -}}
{{- else if has (int $engine.port) (list 8081 9081) -}}
{{- fail (printf "the engine of %s has engine.port %v, which the worker in its pod listens at" $it $engine.port) -}}
{{- else if eq .model.source "image" -}}
{{- if contains "$(MODEL_DIRECTORY)" (list $engine.command $engine.args $engine.env | toJson) -}}
{{- $why := "is in the worker's image alone: take model.source pvc or download, or write out the engine's own path" -}}
{{- fail (printf "the engine of %s is given $(MODEL_DIRECTORY), which %s" $it $why) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Not empty if the engine of a worker runs in its pod. Takes a worker. */}}
{{- define "warmpath.hasSidecar" -}}
{{- if and (ne .engine.kind "own") (not .engine.url) }}yes{{ end -}}
{{- end -}}

{{/* The engine's container: started before the worker, ended after it. Takes root and worker. */}}
{{- define "warmpath.engine" -}}
{{- $engine := .worker.engine -}}
- name: engine
  restartPolicy: Always
  {{- $version := printf ":%s" $engine.image.tag }}
  {{- with $engine.image.digest }}{{ $version = printf "@%s" . }}{{ end }}
  image: {{ $engine.image.repository }}{{ $version }}
  imagePullPolicy: {{ .root.Values.image.pullPolicy }}
  {{- with $engine.command }}
  command:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $engine.args }}
  args:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    - {name: engine, containerPort: {{ $engine.port }}}
  env:
    - {name: HOME, value: /cache}
    - {name: USER, value: engine}
    - {name: MODEL_DIRECTORY, value: {{ include "warmpath.modelDirectory" .worker | quote }}}
    - {name: MODEL_NAME, value: {{ .worker.model.name | quote }}}
    {{- with $engine.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  startupProbe:
    httpGet: {path: {{ $engine.healthPath }}, port: engine}
    periodSeconds: 5
    timeoutSeconds: 5
    failureThreshold: {{ div (add $engine.startupSeconds 4) 5 }}
  # no readiness of its own: the worker asks it every second, and is not ready while it does not answer
  livenessProbe:
    httpGet: {path: {{ $engine.healthPath }}, port: engine}
    periodSeconds: 10
    timeoutSeconds: 10
    failureThreshold: 18
  securityContext:
    {{- $security := include "warmpath.containerSecurity" .root | fromYaml }}
    {{- toYaml (mergeOverwrite $security (deepCopy $engine.securityContext)) | nindent 4 }}
  resources:
    {{- include "warmpath.withCard" (dict "resources" $engine.resources "gpu" .worker.gpu) | nindent 4 }}
  volumeMounts:
    - {name: engine-tmp, mountPath: /tmp}
    - {name: engine-cache, mountPath: /cache}
    - {name: engine-shm, mountPath: /dev/shm}
    {{- if ne .worker.model.source "image" }}
    - {name: models, mountPath: /models, readOnly: true}
    {{- end }}
{{- end -}}

{{/* Takes a worker. */}}
{{- define "warmpath.engineVolumes" -}}
- name: engine-tmp
  emptyDir: {sizeLimit: {{ .engine.tmpSize }}}
- name: engine-cache
  {{- if .engine.cache.claim }}
  persistentVolumeClaim: {claimName: {{ .engine.cache.claim }}}
  {{- else }}
  emptyDir: {sizeLimit: {{ .engine.cache.size }}}
  {{- end }}
- name: engine-shm
  emptyDir: {medium: Memory, sizeLimit: {{ .engine.shmSize }}}
{{- end -}}

{{/* The folder that a worker reads its model from. Takes a worker. */}}
{{- define "warmpath.modelDirectory" -}}
{{- if eq .model.source "image" -}}
{{- .model.path -}}
{{- else if eq .model.source "pvc" -}}
/models/{{ trimAll "/" .model.path }}
{{- else -}}
/models/{{ default .name .model.name }}
{{- end -}}
{{- end -}}

{{/* Takes root and entry: its name. */}}
{{- define "warmpath.workerName" -}}
{{- printf "%s-worker-%s" (include "warmpath.fullname" .root) .entry -}}
{{- end -}}

{{/*
How many workers: with autoscaling as many as run now. Helm would make a field that is there no more null, and the API
server that 1, so that the upgrade which turns autoscaling on would end all workers but one. Nothing where the cluster
cannot be asked, or has no worker of this entry yet: then the autoscaler alone says. Takes root and worker.
*/}}
{{- define "warmpath.workerReplicas" -}}
{{- if eq .worker.autoscaling.mode "none" -}}
{{- .worker.replicas -}}
{{- else -}}
{{- $name := include "warmpath.workerName" (dict "root" .root "entry" .worker.name) -}}
{{- $running := default dict (lookup "apps/v1" "Deployment" .root.Release.Namespace $name).spec -}}
{{- with $running.replicas }}{{ include "warmpath.scalar" . }}{{ end -}}
{{- end -}}
{{- end -}}

{{/*
A regular expression for the names of a Deployment's pods, and of no other one's whose name only begins alike: a digest
and five letters follow, of which long names leave no more than fits. Takes the Deployment's name.
*/}}
{{- define "warmpath.podNames" -}}
{{- if le (len .) 46 -}}
{{- printf "%s-[^-]+-[^-]+" . -}}
{{- else -}}
{{- printf "%s[^-]+-?[^-]+" (printf "%s-" . | trunc 58) -}}
{{- end -}}
{{- end -}}

{{/* How fast an autoscaler may go. Takes autoscaling. */}}
{{- define "warmpath.scaling" -}}
scaleUp:
  # half as many again: those that came last are not warm yet, and waits do not tell that they will be enough
  policies: [{type: Percent, value: 50, periodSeconds: 60}]
scaleDown:
  stabilizationWindowSeconds: {{ .scaleDownSeconds }}
  # one after the other: each takes its share of the cache with it
  policies: [{type: Pods, value: 1, periodSeconds: 60}]
{{- end -}}

{{/* As clients call it: the worker takes the last part of its folder. Takes a worker. */}}
{{- define "warmpath.modelName" -}}
{{- default (base (include "warmpath.modelDirectory" .)) .model.name -}}
{{- end -}}

{{- define "warmpath.redisCaVolume" -}}
{{- with .Values.redis.ca }}
{{- if .existingSecret }}
- name: redis-ca
  secret:
    secretName: {{ .existingSecret }}
    items: [{key: {{ .key }}, path: {{ .key }}}]
{{- end }}
{{- end }}
{{- end -}}

{{/* Of who computes: with the card. Takes resources and gpu. */}}
{{- define "warmpath.withCard" -}}
{{- $resources := deepCopy .resources -}}
{{- if and .gpu.enabled .gpu.resourceClaimTemplate -}}
{{- $_ := set $resources "claims" (list (dict "name" "gpu")) -}}
{{- else if .gpu.enabled -}}
{{- $cards := include "warmpath.scalar" .gpu.count -}}
{{- $_ := set $resources "limits" (set (default dict $resources.limits) .gpu.resource $cards) -}}
{{- end -}}
{{- toYaml $resources -}}
{{- end -}}

{{/* With that for the taint which nodes with cards usually have. Takes a worker; gives JSON. */}}
{{- define "warmpath.workerTolerations" -}}
{{- $tolerations := .tolerations -}}
{{- if .gpu.enabled -}}
{{- $tolerations = append $tolerations (dict "key" "nvidia.com/gpu" "operator" "Exists" "effect" "NoSchedule") -}}
{{- end -}}
{{- $tolerations | toJson -}}
{{- end -}}

{{/* Seconds from SIGTERM until whatever hangs is cut off: the services' 10 s for last bytes, and some to spare. */}}
{{- define "warmpath.shutdownDeadline" -}}
{{- add (default 0 .settleSeconds) .timeoutSeconds 25 -}}
{{- end -}}

{{/* From the deletion of a pod until SIGKILL: preStop counts, too. Takes drain. */}}
{{- define "warmpath.terminationGrace" -}}
{{- add .preStopSeconds (include "warmpath.shutdownDeadline" . | int) 10 -}}
{{- end -}}

{{/* Alerts and dashboards tell processes apart by this label, and people know pods by their names, not addresses. */}}
{{- define "warmpath.scraped" -}}
- {sourceLabels: [__meta_kubernetes_pod_name], targetLabel: instance}
- {targetLabel: job, replacement: warmpath-{{ . }}}
{{- end -}}

{{/* Of routers and workers, which get no span where there is no endpoint. */}}
{{- define "warmpath.tracingEnv" -}}
{{- with .Values.tracing.endpoint -}}
- {name: MANAGEMENT_OPENTELEMETRY_TRACING_EXPORT_OTLP_ENDPOINT, value: {{ . | quote }}}
- {name: MANAGEMENT_TRACING_SAMPLING_PROBABILITY, value: {{ $.Values.tracing.samplingProbability | quote }}}
{{- end -}}
{{- end -}}
