#!/bin/sh
# Collects what somebody needs to look into a problem: versions, configuration without secrets, conditions, events, metrics, learned rate limits and
# the last lines of the logs, in one file. It reads with your kubectl and changes nothing.
#
#   sh support-bundle.sh [-n NAMESPACE] [-o FILE]
#
# No Secret is read. Values of environment variables are left out, and what looks like a key, a token or a private key is replaced. Look through the
# file before you send it: it has names of Services, nodes and addresses.
set -eu

namespace=kube-system
file=alicloud-support-$(date -u +%Y%m%d-%H%M%S).tar.gz
while getopts n:o: option; do
	case $option in
	n) namespace=$OPTARG ;;
	o) file=$OPTARG ;;
	*) echo "usage: sh support-bundle.sh [-n NAMESPACE] [-o FILE]" >&2 && exit 2 ;;
	esac
done

names="cloudgateway lbcontroller nodecontroller routecontroller"
work=$(mktemp -d)
dir=$work/alicloud-support
mkdir "$dir"
forward=
trap 'if [ -n "$forward" ]; then kill "$forward" 2>/dev/null || true; fi; rm -rf "$work"' EXIT

# hide takes out what looks like a secret.
hide() {
	sed -E -e 's/(LTAI|STS\.)[A-Za-z0-9]{8,}/REDACTED/g' -e 's/eyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+/REDACTED/g' \
		-e 's#((secret|token|password|signature)"?[=:] *"?)[A-Za-z0-9+/=_.-]{16,}#\1REDACTED#Ig' \
		-e '/-----BEGIN [A-Z ]*PRIVATE KEY-----/,/-----END [A-Z ]*PRIVATE KEY-----/d'
}

# keep writes what a command says, or why it failed, into a file.
keep() {
	to=$dir/$1
	shift
	"$@" 2>&1 </dev/null | hide >"$to" || true
}

k() { kubectl -n "$namespace" "$@"; }

keep versions.txt kubectl version
keep pods.txt k get pods -l "app.kubernetes.io/name in ($(echo $names | tr ' ' ,))" -o wide
keep images.txt k get pods -l "app.kubernetes.io/name in ($(echo $names | tr ' ' ,))" \
	-o 'jsonpath={range .items[*]}{.metadata.name} {.spec.containers[0].image} {.status.containerStatuses[0].imageID} {.spec.containers[0].args}{"\n"}{end}'
keep nodes.txt kubectl get nodes -o custom-columns='NAME:.metadata.name,PROVIDER:.spec.providerID,CIDRS:.spec.podCIDRs,TAINTS:.spec.taints[*].key,CONDITIONS:.status.conditions[?(@.status=="True")].type'
keep services.txt kubectl get services -A -o \
	'jsonpath={range .items[?(@.spec.type=="LoadBalancer")]}{.metadata.namespace}/{.metadata.name} {.status.loadBalancer} {.status.conditions}{"\n"}{end}'
keep events.txt kubectl get events -A --sort-by=.lastTimestamp
keep events-of-route-tables.txt k get events --field-selector involvedObject.kind=RouteTable
# The Lease of the gateway has the rate limits that it has learned.
keep leases.yaml k get leases $names -o yaml
keep records.txt k get configmaps -o name
for name in $names; do
	keep "$name-config.yaml" k get configmap "$name" -o 'jsonpath={.data.config\.yaml}'
done
keep doctor.txt k exec deployment/cloudgateway -- cloudgateway doctor --config /etc/cloudgateway/config.yaml

# Each pod: its log, and its pages by a connection of its own, since some are only for clients on the same machine.
for pod in $(k get pods -l "app.kubernetes.io/name in ($(echo $names | tr ' ' ,))" -o 'jsonpath={range .items[*]}{.metadata.name} {end}' 2>/dev/null); do
	keep "$pod.log" k logs "$pod" --tail=2000
	keep "$pod-before.log" k logs "$pod" --tail=500 --previous
	port=$(k get pod "$pod" -o 'jsonpath={.spec.containers[0].livenessProbe.httpGet.port}')
	scheme=$(k get pod "$pod" -o 'jsonpath={.spec.containers[0].livenessProbe.httpGet.scheme}' | tr '[:upper:]' '[:lower:]')
	: >"$work/forward" # The shell in the background may be slower than the first look.
	k port-forward "$pod" ":$port" >"$work/forward" 2>&1 </dev/null &
	forward=$!
	local=
	tries=0
	while [ -z "$local" ] && [ $tries -lt 100 ] && kill -0 "$forward" 2>/dev/null; do
		local=$(sed -n 's/^Forwarding from 127\.0\.0\.1:\([0-9]*\).*/\1/p' "$work/forward")
		tries=$((tries + 1))
		[ -n "$local" ] || sleep 0.1
	done
	if [ -n "$local" ]; then
		for page in version readyz metrics; do
			keep "$pod-$page.txt" curl -sk --max-time 20 "${scheme:-http}://127.0.0.1:$local/$page"
		done
	else
		cp "$work/forward" "$dir/$pod-pages-failed.txt"
	fi
	kill "$forward" 2>/dev/null || true
	wait "$forward" 2>/dev/null || true
	forward=
done
active=$(k get lease cloudgateway -o 'jsonpath={.spec.holderIdentity}' 2>/dev/null | cut -d_ -f1)
keep top.json k exec "${active:-deployment/cloudgateway}" -- cloudgateway top --config /etc/cloudgateway/config.yaml -o json
grep -h '"audit"' "$dir"/cloudgateway-*.log 2>/dev/null | tail -n 500 >"$dir/audit.log" || true

tar -C "$work" -czf "$file" alicloud-support
echo "$file: $(ls "$dir" | wc -l | tr -d ' ') files. Look through it before you send it."
