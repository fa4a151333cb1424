{{/* Labels of a component; the argument is a list of the root, the component's name, and perhaps further labels. */}}
{{- define "alicloud-controllers.labels" -}}
{{- $root := index . 0 -}}
{{- $more := dict -}}
{{- if gt (len .) 2 -}}{{- $more = index . 2 | default dict -}}{{- end -}}
{{- $own := include "alicloud-controllers.selector" . | fromYaml -}}
{{- $own = merge $own (dict
  "app.kubernetes.io/version" $root.Chart.AppVersion
  "app.kubernetes.io/managed-by" $root.Release.Service
  "helm.sh/chart" (printf "%s-%s" $root.Chart.Name $root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-")) -}}
{{ mergeOverwrite dict ($root.Values.commonLabels | default dict) $more $own | toYaml }}
{{- end }}

{{- define "alicloud-controllers.selector" -}}
app.kubernetes.io/name: {{ index . 1 }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
{{- end }}

{{- define "alicloud-controllers.image" -}}
{{- $root := index . 0 -}}
{{- $c := index $root.Values.components (index . 1) -}}
{{- with $root.Values.image.registry | default (dig "imageRegistry" "" ($root.Values.global | default dict)) }}{{ . }}/{{ end }}{{ $c.repository }}
{{- if $c.digest }}@{{ $c.digest }}{{ else }}:{{ $c.tag | default $root.Values.image.tag | default $root.Chart.AppVersion }}{{ end }}
{{- end }}

{{/* The names of the enabled components, as a JSON list, once it is sure that the values make a configuration. */}}
{{- define "alicloud-controllers.components" -}}
{{- include "alicloud-controllers.validate" . -}}
{{- $names := list -}}
{{- range $name, $component := .Values.components -}}
{{- $enabled := $component.enabled -}}
{{- if kindIs "string" $enabled -}}{{- $enabled = or (ne $name "routecontroller") (eq $.Values.network.mode "flannel") -}}{{- end -}}
{{- if $enabled -}}{{- $names = append $names $name -}}{{- end -}}
{{- end -}}
{{ toJson $names }}
{{- end }}

{{/* What is missing, all at once, and where to find it. The schema can only say that something is wrong. */}}
{{- define "alicloud-controllers.validate" -}}
{{- $missing := list -}}
{{- range $key := list "admissionPolicy" "api" "budget" "cloudConfig" "components" "credentials" "dashboard" "front" "image" "logging" "network"
  "networkPolicy" "podDisruptionBudget" "podMonitor" "prometheusRule" "readinessGates" "scopes" "serviceMonitor" "tls" "tracing" -}}
{{- if not (kindIs "map" (get $.Values $key)) -}}{{- $missing = append $missing $key -}}{{- end -}}
{{- end -}}
{{- if $missing -}}
{{- fail (printf "\n\n  values: %s: missing. Were the values of an earlier version of the chart reused as a whole, with helm upgrade --reuse-values? Take --reset-then-reuse-values, which adds what is new, or --values\n" (join ", " $missing)) -}}
{{- end -}}
{{- /* A key without a value, such as one above lines that are all comments, takes its default away. Where that is empty, it is put back. */ -}}
{{- $needed := list "gatewayPort" "gatewayActivePort" "front.port" "scopes.controllers" -}}
{{- range $name := list "cloudgateway" "lbcontroller" "nodecontroller" "routecontroller" -}}
{{- range $key := list "enabled" "repository" "replicas" "adminPort" -}}{{- $needed = append $needed (printf "components.%s.%s" $name $key) -}}{{- end -}}
{{- $component := index $.Values.components $name | default dict -}}
{{- if not $component.config -}}{{- $_ := set $component "config" dict -}}{{- end -}}
{{- end -}}
{{- range $path := $needed -}}
{{- $at := $.Values -}}
{{- range $part := splitList "." $path -}}{{- $at = kindIs "map" $at | ternary (index ($at | default dict) $part) nil -}}{{- end -}}
{{- if kindIs "invalid" $at -}}{{- $missing = append $missing $path -}}{{- end -}}
{{- end -}}
{{- if $missing -}}
{{- fail (printf "\n\n  values: %s: a key without a value takes the default away. Give it one, or take it out\n" (join ", " $missing)) -}}
{{- end -}}
{{- range $path := list "credentials.rrsa" "credentials.assumeRole" "tls.certManager" "prometheusRule.alerts" -}}
{{- $section := get $.Values (splitList "." $path | first) -}}
{{- $key := splitList "." $path | last -}}
{{- if not (get $section $key) -}}{{- $_ := set $section $key dict -}}{{- end -}}
{{- end -}}
{{- if not .Values.tls.certManager.issuerRef -}}{{- $_ := set .Values.tls.certManager "issuerRef" (dict "kind" "Issuer" "name" "") -}}{{- end -}}
{{- range $key := list "podLabels" "podAnnotations" -}}
{{- if not (get $.Values $key) -}}{{- $_ := set $.Values $key dict -}}{{- end -}}
{{- end -}}
{{- if not .Values.plan -}}{{- $_ := set .Values "plan" false -}}{{- end -}}
{{- $problems := list -}}
{{- $old := include "alicloud-controllers.cloudConfig" . -}}
{{- if and (not .Values.clusterID) (not $old) -}}
{{- $problems = append $problems "clusterID: is required. On ACK it is the cluster's id in the console, \"c…\"; elsewhere choose a name that no other cluster of the account has, and never change it" -}}
{{- end -}}
{{- if and (not .Values.vpcID) (not $old) -}}
{{- $problems = append $problems "vpcID: is required, \"vpc-…\". On an instance: curl http://100.100.100.200/latest/meta-data/vpc-id" -}}
{{- end -}}
{{- if not .Values.network.mode -}}
{{- $problems = append $problems "network.mode: is required. \"flannel\" if the VPC's route table is to lead to the pods of each node, \"terway\" if pods have addresses of the VPC or an overlay" -}}
{{- end -}}
{{- $routes := .Values.components.routecontroller.enabled -}}
{{- if kindIs "string" $routes -}}{{- $routes = eq .Values.network.mode "flannel" -}}{{- end -}}
{{- if and $routes (not .Values.network.clusterCIDRs) (not .Values.components.routecontroller.config.clusterCIDRs) -}}
{{- $problems = append $problems "network.clusterCIDRs: is required where routes are made. They are the ranges of pods, as in --cluster-cidr of kube-controller-manager: kubectl -n kube-system get pod -l component=kube-controller-manager -o yaml | grep cluster-cidr" -}}
{{- end -}}
{{- if and .Values.cloudConfig.configMap .Values.cloudConfig.secret -}}
{{- $problems = append $problems "cloudConfig: configMap and secret are named; keep one of them" -}}
{{- end -}}
{{- if and .Values.tls.existingSecret .Values.tls.certManager.enabled -}}
{{- $problems = append $problems "tls: existingSecret is named and certManager enabled; keep one of them" -}}
{{- end -}}
{{- $problems = concat $problems (include "alicloud-controllers.leavingSecret" . | fromJsonArray) -}}
{{- if and .Values.front.enabled (not .Values.front.keysSecret) -}}
{{- $problems = append $problems "front.keysSecret: is required with front.enabled. It is the Secret with the key pairs of the tools; docs/openapi-front.md has its form" -}}
{{- end -}}
{{- if and .Values.podMonitor.enabled .Values.serviceMonitor.enabled -}}
{{- $problems = append $problems "podMonitor, serviceMonitor: both are enabled, and every series would be there twice; keep one of them" -}}
{{- end -}}
{{- $problems = concat $problems (include "alicloud-controllers.contradictions" . | fromJsonArray) -}}
{{- if $problems -}}{{- fail (printf "\n\n  %s\n" (join "\n  " $problems)) -}}{{- end -}}
{{- end }}

{{/* Parts of configurations that probes, Services and Roles of the chart contradict, and ports that are there twice, as a JSON list. */}}
{{- define "alicloud-controllers.contradictions" -}}
{{- $problems := list -}}
{{- range $name, $component := .Values.components -}}
{{- $instead := dict "admin.listen" (printf "set components.%s.adminPort, by which probes and monitors go" $name) -}}
{{- range $key := list "leaderElection.name" "leaderElection.namespace" -}}
{{- $_ := set $instead $key (printf "take it out, the Role of the chart is for the Lease %s in the namespace of the release" $name) -}}
{{- end -}}
{{- if eq $name "cloudgateway" -}}
{{- range $key, $value := dict "listen" "gatewayPort" "activeListen" "gatewayActivePort" "front.listen" "front.port" -}}
{{- $_ := set $instead $key (printf "set %s, by which the Service goes" $value) -}}
{{- end -}}
{{- end -}}
{{- range $key, $step := $instead -}}
{{- $at := $component.config -}}
{{- range $part := splitList "." $key -}}
{{- if kindIs "map" $at -}}{{- $at = get $at $part -}}{{- end -}}
{{- end -}}
{{- if and $at (not (kindIs "map" $at)) -}}{{- $problems = append $problems (printf "components.%s.config.%s: %s" $name $key $step) -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- $keys := list "gatewayPort" "gatewayActivePort" "components.cloudgateway.adminPort" -}}
{{- $ports := list .Values.gatewayPort .Values.gatewayActivePort .Values.components.cloudgateway.adminPort -}}
{{- if .Values.front.enabled -}}{{- $keys = append $keys "front.port" -}}{{- $ports = append $ports .Values.front.port -}}{{- end -}}
{{- $numbers := list -}}
{{- range $port := $ports -}}{{- $numbers = append $numbers (int $port) -}}{{- end -}}
{{- if ne (len (uniq $numbers)) (len $numbers) -}}
{{- $problems = append $problems (printf "%s: two of the gateway's ports are the same" (join ", " $keys)) -}}
{{- end -}}
{{ toJson $problems }}
{{- end }}

{{/* What this upgrade itself would delete of the certificate while pods need it, as a JSON list. Helm goes by the annotation that the Secret has in
the cluster, and versions of the chart before 0.2.0 have made it without; a Secret of cert-manager may belong to its Certificate, with which it
goes. Whoever renders without a look into the cluster deletes nothing. */}}
{{- define "alicloud-controllers.leavingSecret" -}}
{{- $namespace := .Release.Namespace -}}
{{- $problems := list -}}
{{- if or .Values.tls.existingSecret .Values.tls.certManager.enabled -}}
{{- with lookup "v1" "Secret" $namespace "cloudgateway-tls" -}}
{{- $made := hasPrefix (printf "%s-" $.Chart.Name) (dig "labels" "helm.sh/chart" "" .metadata) -}}
{{- if and $made (include "alicloud-controllers.goesWithRelease" (list $ .)) -}}
{{- $problems = append $problems (printf "tls: an earlier version of this chart has made Secret cloudgateway-tls, and this upgrade would delete it, while pods need it. Keep it first: kubectl -n %s annotate secret cloudgateway-tls helm.sh/resource-policy=keep" $namespace) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- with .Values.tls.existingSecret -}}
{{- range $owner := dig "metadata" "ownerReferences" list (lookup "v1" "Secret" $namespace .) -}}
{{- if eq $owner.kind "Certificate" -}}
{{- if include "alicloud-controllers.goesWithRelease" (list $ (lookup $owner.apiVersion $owner.kind $namespace $owner.name)) -}}
{{- $problems = append $problems (printf "tls.existingSecret: Secret %s belongs to Certificate %s of this release, and this upgrade would delete both, while pods need the Secret. Take it away from there first: kubectl -n %s patch secret %s --type=merge -p '{\"metadata\":{\"ownerReferences\":null}}'" $.Values.tls.existingSecret $owner.name $namespace $.Values.tls.existingSecret) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{ toJson $problems }}
{{- end }}

{{/* "true" if Helm deletes the object, as it is in the cluster, once the chart hasn't it; the argument is a list of the root and the object. */}}
{{- define "alicloud-controllers.goesWithRelease" -}}
{{- $annotations := dig "metadata" "annotations" dict (index . 1) -}}
{{- if and (eq (dig "meta.helm.sh/release-name" "" $annotations) (index . 0).Release.Name) (ne (dig "helm.sh/resource-policy" "" $annotations) "keep") -}}
true
{{- end -}}
{{- end }}

{{/* The source of the volume with the existing controller manager's file, or nothing. */}}
{{- define "alicloud-controllers.cloudConfig" -}}
{{- with .Values.cloudConfig -}}
{{- if .configMap -}}configMap: {name: {{ .configMap | quote }}}
{{- else if .secret -}}secret: {secretName: {{ .secret | quote }}, defaultMode: 0440}
{{- end -}}
{{- end -}}
{{- end }}

{{/* The digest of that file, empty where whoever renders can't look into the cluster. */}}
{{- define "alicloud-controllers.cloudConfigDigest" -}}
{{- with .Values.cloudConfig -}}
{{- $object := dict -}}
{{- if .configMap -}}{{- $object = lookup "v1" "ConfigMap" $.Release.Namespace .configMap -}}
{{- else if .secret -}}{{- $object = lookup "v1" "Secret" $.Release.Namespace .secret -}}
{{- end -}}
{{- with $object -}}{{- toJson .data | sha256sum -}}{{- end -}}
{{- end -}}
{{- end }}

{{/* "true" if the pods of a component are on the node's network; the argument is a list of the root and the component's name. */}}
{{- define "alicloud-controllers.hostNetwork" -}}
{{- $root := index . 0 -}}
{{- $on := (index $root.Values.components (index . 1)).hostNetwork -}}
{{- if kindIs "string" $on -}}{{- $on = and (eq (index . 1) "cloudgateway") (eq $root.Values.network.mode "flannel") -}}{{- end -}}
{{- if $on -}}true{{- end -}}
{{- end }}

{{/* "true" if the admin address of a component authenticates its clients: where it is one of the node, if its configuration says nothing else. */}}
{{- define "alicloud-controllers.authentication" -}}
{{- $c := index (index . 0).Values.components (index . 1) -}}
{{- if dig "admin" "authentication" (eq (include "alicloud-controllers.hostNetwork" .) "true") $c.config -}}true{{- end -}}
{{- end }}

{{/* How an endpoint of a PodMonitor or ServiceMonitor is scraped that authenticates its clients. */}}
{{- define "alicloud-controllers.scrapeTLS" -}}
scheme: https
tlsConfig:
  {{- if eq (index . 1) "cloudgateway" }}
  ca: {secret: {name: {{ include "alicloud-controllers.tlsSecret" (index . 0) | quote }}, key: ca.crt}}
  serverName: cloudgateway.{{ (index . 0).Release.Namespace }}.svc
  {{- else }}
  insecureSkipVerify: true
  {{- end }}
{{- end }}

{{- define "alicloud-controllers.tlsSecret" -}}
{{ .Values.tls.existingSecret | default "cloudgateway-tls" }}
{{- end }}

{{/* The configuration file of a component: what the chart knows, and what the user adds or changes. */}}
{{- define "alicloud-controllers.config" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $c := index $root.Values.components $name -}}
{{- $base := dict
  "region" $root.Values.region
  "admin" (dict "listen" (printf ":%d" (int $c.adminPort)))
  "logging" (dict "level" $root.Values.logging.level "format" "json")
  "leaderElection" (dict "enabled" true "namespace" $root.Release.Namespace "name" $name) -}}
{{- if include "alicloud-controllers.authentication" (list $root $name) -}}
{{- $_ := set $base.admin "authentication" true -}}
{{- if eq $name "cloudgateway" -}}
{{- $_ := set $base.admin "certFile" "/etc/tls/tls.crt" -}}
{{- $_ := set $base.admin "keyFile" "/etc/tls/tls.key" -}}
{{- end -}}
{{- end -}}
{{- if eq $name "cloudgateway" -}}
{{- $base = merge $base (include "alicloud-controllers.gatewayConfig" $root | fromYaml) -}}
{{- else -}}
{{- $base = merge $base (dict
  "clusterID" $root.Values.clusterID
  "gateway" (dict
    "address" (printf "kubernetes:///cloudgateway.%s:%d" $root.Release.Namespace (int $root.Values.gatewayPort))
    "serverName" (printf "cloudgateway.%s.svc" $root.Release.Namespace)
    "caFile" "/etc/tls/ca.crt" "tokenFile" "/var/run/secrets/cloudgateway/token")) -}}
{{- $base = merge $base (dict "vpcID" $root.Values.vpcID) -}}
{{- /* Without a routecontroller, no component would ever take back that new nodes have no route. */ -}}
{{- if eq $name "nodecontroller" -}}
{{- $base = merge $base (dict "configureCloudRoutes" (has "routecontroller" (include "alicloud-controllers.components" $root | fromJsonArray))) -}}
{{- end -}}
{{- if and $root.Values.network.ipv6 (has $name (list "nodecontroller" "routecontroller")) -}}{{- $base = merge $base (dict "ipv6" true) -}}{{- end -}}
{{- if eq $name "lbcontroller" -}}{{- $base = merge $base (dict "vswitchIDs" $root.Values.vswitchIDs) -}}{{- end -}}
{{- if eq $name "routecontroller" -}}{{- $base = merge $base (dict "clusterCIDRs" $root.Values.network.clusterCIDRs) -}}{{- end -}}
{{- end -}}
{{- with $root.Values.tracing -}}
{{- if .endpoint -}}
{{- $tracing := set (pick . "endpoint" "insecure") "sampleRatio" (float64 .sampleRatio) -}}
{{- if .caSecret -}}{{- $tracing = set $tracing "caFile" "/etc/tracing/ca.crt" -}}{{- end -}}
{{- $base = merge $base (dict "tracing" $tracing) -}}
{{- end -}}
{{- end -}}
{{ mergeOverwrite $base (deepCopy $c.config) | toYaml }}
{{- end }}

{{/* The version of the API for policies that change objects, as far as the API server has it; empty if it doesn't. */}}
{{- define "alicloud-controllers.mutatingAdmission" -}}
{{- $group := "admissionregistration.k8s.io" -}}
{{- if .Capabilities.APIVersions.Has (printf "%s/v1/MutatingAdmissionPolicy" $group) -}}
{{ $group }}/v1
{{- else if .Capabilities.APIVersions.Has (printf "%s/v1beta1/MutatingAdmissionPolicy" $group) -}}
{{ $group }}/v1beta1
{{- end -}}
{{- end }}

{{/* What of the files in files/rbac a component does not need with these values: verbs by the first resource of a rule. The argument is a list of the
root and the component's name. */}}
{{- define "alicloud-controllers.unneeded" -}}
{{- $name := index . 1 -}}
{{- $config := include "alicloud-controllers.config" . | fromYaml -}}
{{- $unneeded := dict -}}
{{- if eq $name "nodecontroller" -}}
{{- if not (dig "deletion" "enabled" true $config) -}}{{- $_ := set $unneeded "nodes" (list "delete") -}}{{- end -}}
{{- if not (and (dig "disableSourceDestCheck" true $config) (dig "configureCloudRoutes" true $config)) -}}
{{- $_ := set $unneeded "sourcedestchecks" (list "update") -}}
{{- end -}}
{{- else if eq $name "lbcontroller" -}}
{{- if not (dig "eips" "enabled" true $config) -}}{{- $_ := set $unneeded "eips" (list "create" "update" "delete") -}}{{- end -}}
{{- $allow := dig "securityGroups" "allow" false $config -}}
{{- if not (dig "sourceRanges" "enabled" true $config) -}}
{{- $_ := set $unneeded "accesscontrollists" (list "create" "update" "delete") -}}
{{- $_ := set $unneeded "securitygroups" (ternary (list "create" "delete") (list "create" "update" "delete") $allow) -}}
{{- end -}}
{{- if not (dig "nlb" "enabled" true $config) -}}
{{- range $resource := list "networkloadbalancers" "networklisteners" "securitygroups" -}}
{{- $_ := set $unneeded $resource (list "get" "list" "create" "update" "delete") -}}
{{- end -}}
{{- if $allow -}}
{{- $_ := set $unneeded "securitygroups" (list "create" "delete") -}}
{{- else if dig "securityGroups" "check" true $config -}}
{{- $_ := set $unneeded "securitygroups" (list "list" "create" "update" "delete") -}}
{{- end -}}
{{- end -}}
{{- if not (dig "tlsSecretNamespaces" list $config) -}}
{{- $_ := set $unneeded "servercertificates" (list "create" "delete") -}}
{{- $_ := set $unneeded "usercertificates" (list "list" "create" "delete") -}}
{{- end -}}
{{- if not (dig "nlb" "enabled" true $config) -}}
{{- $_ := set $unneeded "usercertificates" (list "get" "list" "create" "delete") -}}
{{- end -}}
{{- end -}}
{{ toYaml $unneeded }}
{{- end }}

{{/* What an endpoint of a PodMonitor or ServiceMonitor says of scraping; the argument is the values of the monitor. */}}
{{- define "alicloud-controllers.scrape" -}}
{{- $fields := dict -}}
{{- range $key := list "interval" "scrapeTimeout" "metricRelabelings" -}}
{{- with get $ $key -}}{{- $_ := set $fields $key . -}}{{- end -}}
{{- end -}}
{{- if $fields -}}{{- toYaml $fields -}}{{- end -}}
{{- end }}
