{{- define "billfold.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "billfold.labels" -}}
app.kubernetes.io/name: billfold
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "billfold.secret" -}}
{{ .Values.secret.existing | default .Release.Name }}
{{- end }}

{{- define "billfold.env" -}}
- name: PUBLIC_URL
  value: {{ required "publicUrl: the https address that browsers use" .Values.publicUrl | quote }}
{{- range $name, $value := .Values.settings }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}

{{- define "billfold.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
runAsNonRoot: true
runAsUser: 10001
runAsGroup: 10001
capabilities: { drop: [ALL] }
seccompProfile: { type: RuntimeDefault }
{{- end }}
