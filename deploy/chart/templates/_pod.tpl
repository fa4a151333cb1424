{{/* The template of a component's pods, of its Deployment or of the Job of its plan; the argument is a list of the root and the component's name. */}}
{{- define "alicloud-controllers.pod" -}}
{{- $ := index . 0 -}}
{{- $name := index . 1 -}}
{{- $component := index $.Values.components $name -}}
{{- $hostNetwork := eq (include "alicloud-controllers.hostNetwork" (list $ $name)) "true" -}}
{{- $cloudConfig := include "alicloud-controllers.cloudConfig" $ -}}
{{- $gateway := eq $name "cloudgateway" -}}
{{- $scheme := eq (include "alicloud-controllers.authentication" (list $ $name)) "true" | ternary "HTTPS" "HTTP" -}}
{{- $credentials := "" -}}
{{- if $gateway -}}{{- $credentials = include "alicloud-controllers.credentialVolume" $ -}}{{- end -}}
{{- $plan := and $.Values.plan (not $gateway) -}}
{{- /* What makes pods of an upgrade others than those before, for probes on the node's network. */ -}}
{{- $revision := list (include "alicloud-controllers.image" (list $ $name)) (include "alicloud-controllers.config" (list $ $name)) $credentials (toJson $component) (include "alicloud-controllers.features" $) | toJson | sha256sum | trunc 16 | quote -}}
{{- $object := $plan | ternary (printf "%s-plan" $name) $name -}}
metadata:
  labels:
    {{- include "alicloud-controllers.labels" (list $ $object (mergeOverwrite dict $.Values.podLabels ($component.podLabels | default dict))) | nindent 4 }}
  annotations:
    {{- $own := dict "checksum/config" (include "alicloud-controllers.config" (list $ $name) | sha256sum) }}
    {{- with include "alicloud-controllers.cloudConfigDigest" $ }}{{ $_ := set $own "checksum/cloud-config" . }}{{ end }}
    {{- /* A key that is there twice would be a mistake to the one, and to the other no restart after a change. */}}
    {{- mergeOverwrite dict $.Values.podAnnotations ($component.podAnnotations | default dict) $own | toYaml | nindent 4 }}
spec:
  {{- if $plan }}
  restartPolicy: Never
  {{- end }}
  serviceAccountName: {{ $name }}
  # All of them talk to the API server. Other pods with this ServiceAccount get no token.
  automountServiceAccountToken: true
  enableServiceLinks: false
  hostNetwork: {{ $hostNetwork }}
  # The cluster's DNS waits for nodes that the controllers have initialised: nothing here may need it.
  dnsPolicy: Default
  priorityClassName: {{ $component.priorityClassName | default $.Values.priorityClassName }}
  # The process itself takes 25 at most, after the second that the hook takes.
  terminationGracePeriodSeconds: 30
  {{- with $.Values.podSecurityContext }}
  securityContext: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $.Values.imagePullSecrets }}
  imagePullSecrets: {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $component.nodeSelector | default $.Values.nodeSelector }}
  nodeSelector: {{- toYaml . | nindent 4 }}
  {{- end }}
  tolerations: {{- toYaml ($component.tolerations | default $.Values.tolerations) | nindent 4 }}
  {{- with $component.affinity | default $.Values.affinity }}
  affinity: {{- toYaml . | nindent 4 }}
  {{- else }}
  # Not a constraint of the topology: on a fresh cluster nodes have no zone yet, and then the scheduler would not count the nodes either.
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        {{- range $weight, $key := dict "100" "kubernetes.io/hostname" "50" "topology.kubernetes.io/zone" }}
        - weight: {{ $weight }}
          podAffinityTerm:
            topologyKey: {{ $key }}
            labelSelector:
              matchLabels: {{- include "alicloud-controllers.selector" (list $ $object) | nindent 16 }}
        {{- end }}
  {{- end }}
  {{- with $component.topologySpreadConstraints | default $.Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range . }}
    {{- $selector := dict "labelSelector" (dict "matchLabels" (include "alicloud-controllers.selector" (list $ $object) | fromYaml)) }}
    {{- /* Without a selector a constraint counts no pods. */}}
    - {{- hasKey . "labelSelector" | ternary . (merge $selector .) | toYaml | nindent 6 }}
    {{- end }}
  {{- end }}
  containers:
    - name: {{ $name }}
      image: {{ include "alicloud-controllers.image" (list $ $name) }}
      imagePullPolicy: {{ $.Values.image.pullPolicy }}
      command: [{{ $name }}]
      args:
        {{- if $plan }}
        - plan
        {{- end }}
        - --config=/etc/{{ $name }}/config.yaml
        {{- if $cloudConfig }}
        - --cloud-config=/etc/cloud-config/{{ $.Values.cloudConfig.key }}
        {{- end }}
        {{- if and $component.extraArgs (not $plan) }}
        {{- toYaml $component.extraArgs | nindent 8 }}
        {{- end }}
      env:
        # Who holds a Lease: a container that is started again goes on with it at once.
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}
        # Go collects its garbage more often as it comes near the limit, instead of being killed at it.
        - {name: GOMEMLIMIT, valueFrom: {resourceFieldRef: {resource: limits.memory}}}
        {{- if $hostNetwork }}
        - {name: POD_REVISION, value: {{ $revision }}}
        {{- end }}
        {{- if $gateway }}
        # What `cloudgateway doctor` has to try.
        - {name: DOCTOR_FEATURES, value: {{ include "alicloud-controllers.features" $ | quote }}}
        {{- end }}
        {{- if $cloudConfig }}
        # For commands in the pod, such as plan and doctor, which are called without the argument above.
        - {name: CLOUD_CONFIG, value: /etc/cloud-config/{{ $.Values.cloudConfig.key }}}
        {{- end }}
        {{- with $component.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- if and (not $hostNetwork) (not $plan) }}
      # On the node's network they would keep a second replica off the node.
      ports:
        - {name: admin, containerPort: {{ $component.adminPort }}}
        {{- if $gateway }}
        - {name: grpc, containerPort: {{ $.Values.gatewayPort }}}
        - {name: active, containerPort: {{ $.Values.gatewayActivePort }}}
        {{- if $.Values.front.enabled }}
        - {name: front, containerPort: {{ $.Values.front.port }}}
        {{- end }}
        {{- end }}
      {{- end }}
      {{- if not $plan }}
      # The kernel withholds signals from a process that has not set itself up for them, which takes some milliseconds.
      lifecycle:
        preStop: {sleep: {seconds: 1}}
      # Not /readyz: a restart mends neither credentials nor networks, and would hide the reason.
      startupProbe:
        httpGet: {path: /livez, port: {{ $component.adminPort }}, scheme: {{ $scheme }}}
        periodSeconds: 2
        failureThreshold: 60
      readinessProbe:
        httpGet:
          path: /readyz
          port: {{ $component.adminPort }}
          scheme: {{ $scheme }}
          {{- if $hostNetwork }}
          # While this pod waits for the port, that of the pod answers which has it.
          httpHeaders: [{name: Pod-Revision, value: {{ $revision }}}]
          {{- end }}
        timeoutSeconds: 4
      livenessProbe:
        httpGet: {path: /livez, port: {{ $component.adminPort }}, scheme: {{ $scheme }}}
      {{- end }}
      resources: {{- toYaml $component.resources | nindent 8 }}
      {{- with $.Values.securityContext }}
      securityContext: {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - {name: config, mountPath: /etc/{{ $name }}, readOnly: true}
        - {name: tls, mountPath: /etc/tls, readOnly: true}
        {{- if $.Values.tracing.caSecret }}
        - {name: tracing, mountPath: /etc/tracing, readOnly: true}
        {{- end }}
        # In the gateway it is for `cloudgateway top`.
        - {name: token, mountPath: /var/run/secrets/cloudgateway, readOnly: true}
        {{- if $credentials }}
        - {name: credentials, mountPath: /etc/credentials, readOnly: true}
        {{- end }}
        {{- if $cloudConfig }}
        - {name: cloud-config, mountPath: /etc/cloud-config, readOnly: true}
        {{- end }}
        {{- if and $gateway $.Values.tls.clientCASecret }}
        - {name: client-ca, mountPath: /etc/client-ca, readOnly: true}
        {{- end }}
        {{- if and $gateway $.Values.front.enabled }}
        - {name: front, mountPath: /etc/front, readOnly: true}
        {{- end }}
        {{- with $component.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ $name }}}
    - name: tls
      secret:
        secretName: {{ include "alicloud-controllers.tlsSecret" $ | quote }}
        defaultMode: 0440
        {{- if not $gateway }}
        # The key is the gateway's alone.
        items: [{key: ca.crt, path: ca.crt}]
        {{- end }}
    {{- with $.Values.tracing.caSecret }}
    - name: tracing
      secret: {secretName: {{ . | quote }}, defaultMode: 0440, items: [{key: ca.crt, path: ca.crt}]}
    {{- end }}
    - name: token
      projected:
        defaultMode: 0440
        sources:
          - serviceAccountToken: {audience: cloudgateway, expirationSeconds: 3600, path: token}
    {{- with $credentials }}
    {{- . | nindent 4 }}
    {{- end }}
    {{- if $cloudConfig }}
    - name: cloud-config
      {{- $cloudConfig | nindent 6 }}
    {{- end }}
    {{- if and $gateway $.Values.tls.clientCASecret }}
    - name: client-ca
      secret: {secretName: {{ $.Values.tls.clientCASecret | quote }}, defaultMode: 0440, items: [{key: ca.crt, path: ca.crt}]}
    {{- end }}
    {{- if and $gateway $.Values.front.enabled }}
    - name: front
      # Key pairs that are not there yet must not keep the controllers' gateway from starting.
      secret: {secretName: {{ $.Values.front.keysSecret | quote }}, defaultMode: 0440, optional: true}
    {{- end }}
    {{- with $component.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
