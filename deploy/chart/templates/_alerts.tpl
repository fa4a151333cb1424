{{/* The rules of files/alerts.yaml that make sense with what is installed, as the values ask for them: an object with the list "rules". */}}
{{- define "alicloud-controllers.alerts" -}}
{{- $names := list -}}
{{- range $name := include "alicloud-controllers.components" . | fromJsonArray -}}
{{- if gt (int (index $.Values.components $name).replicas) 0 -}}{{- $names = append $names $name -}}{{- end -}}
{{- end -}}
{{- if .Values.plan -}}{{- $names = has "cloudgateway" $names | ternary (list "cloudgateway") list -}}{{- end -}}
{{- $controllers := without $names "cloudgateway" -}}
{{- $pairs := list -}}
{{- range $name := $names -}}
{{- if gt (int (index $.Values.components $name).replicas) 1 -}}{{- $pairs = append $pairs $name -}}{{- end -}}
{{- end -}}
{{- $there := dict "controllers" $controllers "pairs" $pairs "front" (and (has "cloudgateway" $names) .Values.front.enabled) -}}
{{- range $name := $names -}}{{- $_ := set $there $name true -}}{{- end -}}
{{- $labels := join ", " .Values.prometheusRule.aggregationLabels -}}
{{- $all := (.Files.Get "files/alerts.yaml" | fromYaml).alerts -}}
{{- $known := list -}}
{{- range $alert := $all -}}{{- $known = append $known $alert.alert -}}{{- end -}}
{{- range $name, $_ := .Values.prometheusRule.alerts -}}
{{- if not (has $name $known) -}}{{- fail (printf "\n\n  prometheusRule.alerts: there is no alert %s, only %s\n" $name (join ", " $known)) -}}{{- end -}}
{{- end -}}
{{- $rules := list -}}
{{- range $alert := $all -}}
{{- $own := get $.Values.prometheusRule.alerts $alert.alert | default dict -}}
{{- if and (hasKey $own "threshold") (not (hasKey $alert "threshold")) -}}
{{- fail (printf "\n\n  prometheusRule.alerts.%s.threshold: this alert has no threshold\n" $alert.alert) -}}
{{- end -}}
{{- if and (dig "enabled" true $own) (or (not $alert.component) (get $there ($alert.component | default ""))) -}}
{{- $expr := $alert.expr -}}
{{- range $name := $alert.gone | default "" | replace "CONTROLLERS" (join "|" $controllers) | splitList "|" -}}
{{- if and $name $labels -}}
{{- /* Which cluster lacks a process that never had a series can't be known where clusters share a Prometheus: a day is remembered, but for
series from before they had the labels. */ -}}
{{- $matchers := printf "name=%q" $name -}}
{{- range $label := $.Values.prometheusRule.aggregationLabels -}}{{- $matchers = printf "%s, %s!=\"\"" $matchers $label -}}{{- end -}}
{{- $expr = printf "%s or (max by (LABELS, name) (max_over_time(leader_election_master_status{%s}[1d])) unless on (LABELS, name) leader_election_master_status)" $expr $matchers -}}
{{- end -}}
{{- /* Also where the series lack the labels: Prometheus adds its external labels only after it has evaluated the rules. */ -}}
{{- if $name -}}{{- $expr = printf "%s or absent(leader_election_master_status{name=%q})" $expr $name -}}{{- end -}}
{{- end -}}
{{- $expr = $expr | replace "OURS" "and on (LABELS, job, instance) leader_election_master_status{name=~\"PROCESSES\"}" -}}
{{- $expr = $expr | replace "PROCESSES" (join "|" $names) | replace "CONTROLLERS" (join "|" $controllers) | replace "PAIRS" (join "|" $pairs) -}}
{{- $expr = $expr | replace "(LABELS)" (printf "(%s)" $labels) | replace "LABELS, " (empty $labels | ternary "" (printf "%s, " $labels)) -}}
{{- $threshold := float64 (dig "threshold" ($alert.threshold | default 0) $own) -}}
{{- $expr = $expr | replace "THRESHOLD" (eq $threshold (float64 (int64 $threshold)) | ternary (int64 $threshold | toString) (toString $threshold)) -}}
{{- $annotations := dict "summary" $alert.summary "runbook" (printf "docs/runbook.md#%s" (lower $alert.alert)) -}}
{{- with $.Values.prometheusRule.runbookURL -}}{{- $_ := set $annotations "runbook_url" (printf "%s#%s" . (lower $alert.alert)) -}}{{- end -}}
{{- $rules = append $rules (dict "alert" $alert.alert "expr" $expr "for" ($own.for | default $alert.for)
  "labels" (mergeOverwrite (dict "severity" ($own.severity | default $alert.severity)) ($own.labels | default dict)) "annotations" $annotations) -}}
{{- end -}}
{{- end -}}
{{ dict "rules" $rules | toYaml }}
{{- end }}
