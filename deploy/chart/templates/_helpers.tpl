{{/* Labels of a component; the argument is a list of the root and the component's name. */}}
{{- define "labels" -}}
{{- $root := index . 0 -}}
{{ include "selector" . }}
app.kubernetes.io/version: {{ $root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ $root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" $root.Chart.Name $root.Chart.Version }}
{{- end }}

{{- define "selector" -}}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
{{- end }}

{{- define "image" -}}
{{- $root := index . 0 -}}
{{- $c := index $root.Values.components (index . 1) -}}
{{- with $root.Values.image.registry }}{{ . }}/{{ end }}{{ $c.repository }}
{{- if $c.digest }}@{{ $c.digest }}{{ else }}:{{ $c.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end }}

{{- define "tlsSecret" -}}
{{ .Values.tls.existingSecret | default "cloudgateway-tls" }}
{{- end }}

{{/* The configuration file of a component: what the chart knows, and what the user adds or changes. */}}
{{- define "config" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $c := index $root.Values.components $name -}}
{{- $base := dict
  "region" $root.Values.region
  "admin" (dict "listen" (printf ":%d" (int $c.adminPort)))
  "logging" (dict "level" $root.Values.logging.level "format" "json")
  "leaderElection" (dict "enabled" true "namespace" $root.Release.Namespace "name" $name) -}}
{{- if eq $name "cloudgateway" -}}
{{- $base = merge $base (include "gatewayConfig" $root | fromYaml) -}}
{{- else -}}
{{- $base = merge $base (dict
  "clusterID" $root.Values.clusterID
  "gateway" (dict
    "address" (printf "dns:///cloudgateway.%s.svc:%d" $root.Release.Namespace (int $root.Values.gatewayPort))
    "serverName" (printf "cloudgateway.%s.svc" $root.Release.Namespace)
    "caFile" "/etc/tls/ca.crt" "tokenFile" "/var/run/secrets/cloudgateway/token")) -}}
{{- $base = merge $base (dict "vpcID" $root.Values.vpcID) -}}
{{- /* Without a routecontroller nobody would ever take back that new nodes have no route. */ -}}
{{- if eq $name "nodecontroller" -}}
{{- $base = merge $base (dict "configureCloudRoutes" $root.Values.components.routecontroller.enabled) -}}
{{- end -}}
{{- if eq $name "lbcontroller" -}}{{- $base = merge $base (dict "vswitchIDs" $root.Values.vswitchIDs) -}}{{- end -}}
{{- if eq $name "routecontroller" -}}{{- $base = merge $base (dict "clusterCIDRs" $root.Values.clusterCIDRs) -}}{{- end -}}
{{- end -}}
{{- with $root.Values.tracing -}}
{{- if .endpoint -}}
{{- $tracing := pick . "endpoint" "insecure" "sampleRatio" -}}
{{- if .caSecret -}}{{- $tracing = set $tracing "caFile" "/etc/tracing/ca.crt" -}}{{- end -}}
{{- $base = merge $base (dict "tracing" $tracing) -}}
{{- end -}}
{{- end -}}
{{ mergeOverwrite $base (deepCopy $c.config) | toYaml }}
{{- end }}
