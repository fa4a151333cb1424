{{/* The one source of credentials that is named: its key, or nothing for the RAM role of the instance. */}}
{{- define "alicloud-controllers.credentialSource" -}}
{{- $credentials := .Values.credentials -}}
{{- $named := list -}}
{{- range $key := list "existingSecret" "ramRole" "stsTokenSecret" "addonTokenSecret" -}}
{{- if get $credentials $key -}}{{- $named = append $named $key -}}{{- end -}}
{{- end -}}
{{- if or $credentials.rrsa.roleARN $credentials.rrsa.oidcProviderARN -}}{{- $named = append $named "rrsa" -}}{{- end -}}
{{- if gt (len $named) 1 -}}
{{- fail (printf "credentials: %s are named; keep one of them" (join " and " $named)) -}}
{{- end -}}
{{- if and (has "rrsa" $named) (not (and $credentials.rrsa.roleARN $credentials.rrsa.oidcProviderARN)) -}}
{{- fail "credentials.rrsa: roleARN and oidcProviderARN are required together; both are shown in the RAM console" -}}
{{- end -}}
{{- if $named -}}{{- first $named -}}{{- end -}}
{{- end }}

{{/* The products that tools may call through the OpenAPI front, each with a name of its own. */}}
{{- define "alicloud-controllers.frontProducts" -}}
["slb", "nlb", "vpc", "ecs", "sts", "cas", "ram", "cs", "ess", "alb", "alidns", "pvtz", "nas", "kms"]
{{- end }}

{{/* The names of the gateway in its certificate: with those of the products, whether there is a front or not, since the certificate stays. */}}
{{- define "alicloud-controllers.gatewayNames" -}}
{{- $names := list (printf "cloudgateway.%s.svc" .Release.Namespace) -}}
{{- range include "alicloud-controllers.frontProducts" . | fromJsonArray -}}
{{- $names = append $names (printf "cloudgateway-%s.%s.svc" . $.Release.Namespace) -}}
{{- end -}}
{{ toJson $names }}
{{- end }}

{{/* The gateway's part of its configuration file. */}}
{{- define "alicloud-controllers.gatewayConfig" -}}
{{- $credentials := dict -}}
{{- $source := include "alicloud-controllers.credentialSource" . -}}
{{- $own := .Values.components.cloudgateway.config.credentials -}}
{{- if eq $source "existingSecret" -}}
{{- $credentials = dict "accessKey" (dict "idFile" "/etc/credentials/id" "secretFile" "/etc/credentials/secret") -}}
{{- else if eq $source "rrsa" -}}
{{- $credentials = dict "rrsa" (merge (dict "tokenFile" "/etc/credentials/token") .Values.credentials.rrsa) -}}
{{- else if eq $source "stsTokenSecret" -}}
{{- $credentials = dict "stsTokenFile" "/etc/credentials/token" -}}
{{- else if eq $source "addonTokenSecret" -}}
{{- $credentials = dict "addonTokenFile" "/etc/credentials/token-config" -}}
{{- else if or (eq $source "ramRole") (not (or $own (include "alicloud-controllers.cloudConfig" .))) -}}
{{- $credentials = dict "ecsRAMRole" (dict "role" .Values.credentials.ramRole) -}}
{{- end -}}
{{- if .Values.credentials.assumeRole.roleARN -}}{{- $credentials = set $credentials "assumeRole" .Values.credentials.assumeRole -}}{{- end -}}
{{- $tls := dict "certFile" "/etc/tls/tls.crt" "keyFile" "/etc/tls/tls.key" -}}
{{- if .Values.tls.clientCASecret -}}{{- $tls = set $tls "clientCAFile" "/etc/client-ca/ca.crt" -}}{{- end -}}
{{- $front := dict -}}
{{- if .Values.front.enabled -}}
{{- $front = dict "front" (dict "listen" (printf ":%d" (int .Values.front.port)) "keysFile" "/etc/front/keys.yaml" "wait" .Values.front.wait "audience" .Values.front.audience) -}}
{{- if .Values.front.auditReads -}}{{- $_ := set $front.front "auditReads" true -}}{{- end -}}
{{- end -}}
{{- merge $front (dict
  "vpcID" .Values.vpcID "clusterID" .Values.clusterID
  "listen" (printf ":%d" (int .Values.gatewayPort)) "activeListen" (printf ":%d" (int .Values.gatewayActivePort))
  "tls" $tls "credentials" $credentials "budget" (include "alicloud-controllers.budget" . | fromYaml) "reflection" .Values.reflection "api" .Values.api
  "scopeControllers" .Values.scopes.controllers "scopes" .Values.scopes.others) | toYaml -}}
{{- end }}

{{/* The budget, with the numbers that helm's --set makes strings of. */}}
{{- define "alicloud-controllers.budget" -}}
{{- $budget := deepCopy .Values.budget -}}
{{- range $key := list "part" "share" "learnUpTo" -}}
{{- if hasKey $budget $key -}}{{- $_ := set $budget $key (float64 (get $budget $key)) -}}{{- end -}}
{{- end -}}
{{- range $terms := $budget.callers -}}
{{- if hasKey $terms "share" -}}{{- $_ := set $terms "share" (float64 $terms.share) -}}{{- end -}}
{{- end -}}
{{ toYaml $budget }}
{{- end }}

{{/* The volume with what the source of credentials needs, as a list item. */}}
{{- define "alicloud-controllers.credentialVolume" -}}
{{- $source := include "alicloud-controllers.credentialSource" . -}}
{{- if eq $source "rrsa" -}}
- name: credentials
  projected:
    defaultMode: 0440
    sources:
      - serviceAccountToken: {audience: sts.aliyuncs.com, expirationSeconds: 3600, path: token}
{{- else if and $source (ne $source "ramRole") -}}
- name: credentials
  secret: {secretName: {{ get .Values.credentials $source | quote }}, defaultMode: 0440}
{{- end -}}
{{- end }}

{{/* The features of the controllers that are installed, for `cloudgateway doctor`: their permissions, and no others, are needed. */}}
{{- define "alicloud-controllers.features" -}}
{{- $features := list -}}
{{- $of := dict "lbcontroller" "load-balancers" "nodecontroller" "nodes" "routecontroller" "routes" -}}
{{- range $name := include "alicloud-controllers.components" . | fromJsonArray -}}
{{- with get $of $name -}}{{- $features = append $features . -}}{{- end -}}
{{- end -}}
{{ join "," $features }}
{{- end }}
