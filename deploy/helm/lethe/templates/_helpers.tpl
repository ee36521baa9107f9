{{- define "lethe.name" -}}
{{- .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "lethe.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "lethe.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "lethe.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "lethe.name" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- /* The configuration of the mode. */ -}}
{{- define "lethe.config" -}}
{{- toYaml (ternary .Values.single.config .Values.config .Values.single.enabled) -}}
{{- end -}}

{{- /* A pod; takes a dict of root, component, roles and resources. */ -}}
{{- define "lethe.pod" -}}
metadata:
  annotations:
    checksum/config: {{ include "lethe.config" .root | sha256sum }}
    {{- with .root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  labels:
    {{- include "lethe.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  serviceAccountName: {{ include "lethe.serviceAccount" .root }}
  automountServiceAccountToken: false
  # Kubernetes would set LETHE_* variables that are not settings for a release named lethe.
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ .root.Values.terminationGracePeriodSeconds }}
  {{- with .root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    seccompProfile:
      type: RuntimeDefault
  containers:
    - name: lethe
      image: "{{ .root.Values.image.repository }}:{{ .root.Values.image.tag | default .root.Chart.AppVersion }}"
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      args: [serve, --config, /etc/lethe/lethe.yaml]
      env:
        # A folder that Lethe makes, because a group may write to the volume itself.
        - name: LETHE_DATA_DIR
          value: /data/lethe
        - name: LETHE_ROLES
          value: {{ .roles | quote }}
        {{- if .root.Values.admin.enabled }}
        - name: LETHE_SERVER_ADMIN_LISTEN
          value: "0.0.0.0:9003"
        {{- end }}
        # The image has all addresses. Without a service, kubectl port-forward leads to this one.
        - name: LETHE_SERVER_CONSOLE_LISTEN
          value: {{ ternary "0.0.0.0:9004" "127.0.0.1:9004" .root.Values.console.enabled | quote }}
        {{- with .root.Values.console.host }}
        - name: LETHE_SERVER_CONSOLE_PUBLIC_URL
          value: {{ printf "%s://%s" (ternary "https" "http" (gt (len $.root.Values.console.tls) 0)) . | quote }}
        {{- end }}
        {{- with .root.Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      envFrom:
        {{- range .root.Values.envFromSecrets }}
        - secretRef:
            name: {{ . }}
            {{- if $.root.Values.single.enabled }}
            optional: true
            {{- end }}
        {{- end }}
      ports:
        {{- if contains "serve" .roles }}
        - name: s3
          containerPort: 9000
        - name: paste
          containerPort: 9001
        - name: console
          containerPort: 9004
        {{- end }}
        - name: metrics
          containerPort: 9002
        {{- if .root.Values.admin.enabled }}
        - name: admin
          containerPort: 9003
        {{- end }}
      # A first start of the database and migrations may take 5 minutes.
      startupProbe:
        httpGet: {path: /healthz, port: metrics}
        periodSeconds: 2
        failureThreshold: 150
      livenessProbe:
        httpGet: {path: /healthz, port: metrics}
        periodSeconds: 10
      readinessProbe:
        httpGet: {path: /readyz, port: metrics}
        periodSeconds: 5
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
      resources:
        {{- toYaml .resources | nindent 8 }}
      volumeMounts:
        - name: config
          mountPath: /etc/lethe
          readOnly: true
        - name: data
          mountPath: /data
  volumes:
    - name: config
      configMap:
        name: {{ include "lethe.name" .root }}
    {{- if not .root.Values.single.enabled }}
    # Credentials and the admin socket; each start makes them again.
    - name: data
      emptyDir: {}
    {{- end }}
  {{- with .root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}
