{{- define "yardmaster.fullname" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "yardmaster.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "yardmaster.labels" -}}
{{ include "yardmaster.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "yardmaster.image" -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) -}}
{{- end -}}
{{- end -}}

{{- /* The flag of each topology by its name, as JSON: a file, or the built-in one of the name. */ -}}
{{- define "yardmaster.topologies" -}}
{{- $all := dict -}}
{{- if .Values.topology -}}
{{- if .Values.topologies -}}
{{- fail "topology and topologies are both set: give all of them in topologies" -}}
{{- end -}}
{{- $_ := set $all "topology" "/etc/yardmaster/topology/topology.toml" -}}
{{- end -}}
{{- range $name, $text := .Values.topologies -}}
{{- $file := printf "/etc/yardmaster/topology/%s.toml" $name -}}
{{- $_ := set $all $name (ternary $file $name (not (empty $text))) -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{- /* The flag of the topology of a worker: `of` names one of several. */ -}}
{{- define "yardmaster.topologyOf" -}}
{{- $all := include "yardmaster.topologies" .root | fromJson -}}
{{- if .of -}}
{{- if not (hasKey $all .of) -}}
{{- fail (printf "%s: there is no topology %q; give one of %s" .what .of (keys $all | sortAlpha | join ", ")) -}}
{{- end }}
- --topology={{ get $all .of }}
{{- else if gt (len $all) 1 -}}
{{- fail (printf "%s: there are several topologies; set its topology to one of %s" .what (keys $all | sortAlpha | join ", ")) -}}
{{- else -}}
{{- range $name, $flag := $all }}
- --topology={{ $flag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- /* The texts of topology files by their names, as JSON. */ -}}
{{- define "yardmaster.topologyTexts" -}}
{{- $all := dict -}}
{{- if .Values.topology -}}
{{- $_ := set $all "topology.toml" .Values.topology -}}
{{- end -}}
{{- range $name, $text := .Values.topologies -}}
{{- if $text -}}
{{- $_ := set $all (printf "%s.toml" $name) $text -}}
{{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{- /* Where a process finds Kafka. */ -}}
{{- define "yardmaster.log" -}}
- --bootstrap-server={{ required "set kafka.bootstrapServer, host:port" .Values.kafka.bootstrapServer }}
{{- if or .Values.kafka.properties .Values.kafka.existingSecret }}
- --command-config=/etc/yardmaster/kafka/kafka.properties
{{- end }}
- --log={{ .Values.log }}
{{- end -}}

{{- /* How a process serves HTTP: other pods can reach it, so it demands a token. */ -}}
{{- define "yardmaster.http" -}}
- --http={{ .Values.http.address }}:{{ .Values.http.port }}
- --http-token-file=/etc/yardmaster/http/token
{{- if .Values.http.tls.existingSecret }}
- --http-cert=/etc/yardmaster/tls/tls.crt
- --http-key=/etc/yardmaster/tls/tls.key
{{- end }}
{{- end -}}

{{- define "yardmaster.mounts" -}}
- name: http-token
  mountPath: /etc/yardmaster/http
  readOnly: true
{{- if include "yardmaster.topologyTexts" . | fromJson }}
- name: topology
  mountPath: /etc/yardmaster/topology
  readOnly: true
{{- end }}
{{- if or .Values.kafka.properties .Values.kafka.existingSecret }}
- name: kafka
  mountPath: /etc/yardmaster/kafka
  readOnly: true
{{- end }}
{{- if .Values.http.tls.existingSecret }}
- name: tls
  mountPath: /etc/yardmaster/tls
  readOnly: true
{{- end }}
{{- end -}}

{{- define "yardmaster.volumes" -}}
- name: http-token
  secret:
    secretName: {{ .Values.http.existingSecret | default (printf "%s-http" (include "yardmaster.fullname" .)) }}
    defaultMode: 0440
    items:
      - key: token
        path: token
{{- if include "yardmaster.topologyTexts" . | fromJson }}
- name: topology
  configMap:
    name: {{ include "yardmaster.fullname" . }}-topology
{{- end }}
{{- if or .Values.kafka.properties .Values.kafka.existingSecret }}
- name: kafka
  secret:
    secretName: {{ .Values.kafka.existingSecret | default (printf "%s-kafka" (include "yardmaster.fullname" .)) }}
    defaultMode: 0440
    items:
      - key: kafka.properties
        path: kafka.properties
{{- end }}
{{- if .Values.http.tls.existingSecret }}
- name: tls
  secret:
    secretName: {{ .Values.http.tls.existingSecret }}
    defaultMode: 0440
{{- end }}
{{- end -}}

{{- define "yardmaster.probe" -}}
httpGet:
  path: {{ .path }}
  port: http
  scheme: {{ ternary "HTTPS" "HTTP" (not (empty .root.Values.http.tls.existingSecret)) }}
timeoutSeconds: 5
{{- end -}}

{{- define "yardmaster.podSecurity" -}}
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
fsGroup: 10001
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "yardmaster.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- /* What a pod of any kind has in common. */ -}}
{{- define "yardmaster.pod" -}}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
securityContext:
  {{- include "yardmaster.podSecurity" . | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- /* Pods are replaced when what they read at their start changes. */ -}}
{{- define "yardmaster.annotations" -}}
checksum/config: {{ printf "%s|%s" (include "yardmaster.topologyTexts" .) .Values.kafka.properties | sha256sum }}
{{- with .Values.podAnnotations }}
{{ toYaml . }}
{{- end }}
{{- end -}}
