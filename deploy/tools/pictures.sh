#!/bin/sh
# make pictures: takes those of docs/pictures from a run of the local world. The console is openapisim's; the dashboard is drawn from the
# metrics of the processes, as Grafana would draw it, from a time with trouble in it: the cloud refuses calls far below its documented limits, as it
# does when something else uses the account, while users change Services; one of these is wrong, and one has no pods. It needs kubectl, curl, and a
# browser from Debian's package chromium or chromium-headless-shell.
set -eu
browser=$(command -v chromium || command -v chromium-headless-shell || echo chromium)
missing=$(for program in kubectl curl "$browser"; do command -v "$program" >/dev/null || echo "$program"; done)
if [ -n "$missing" ]; then
	echo "pictures: install first:" $missing
	exit 1
fi
to=docs/pictures
dir=$(mktemp -d)
(cd deploy/test/alerts && go build -o "$dir/picture" ./picture)
bin/world up -dir "$dir/world" &
world=$!
trap 'kill $world; wait $world || true; rm -rf "$dir"' EXIT
until [ -s "$dir/world/env" ]; do
	kill -0 $world
	sleep 1
done
. "$dir/world/env"
until kubectl get serviceaccount default >/dev/null 2>&1; do sleep 1; done
metrics=$(env | sed -n 's/^METRICS_//p' | awk -F= '{ print tolower($1) "=" $2 }' | sort)
# shellcheck disable=SC2086 # A list of words.
"$dir/picture" -for 4m -out "$dir/dashboard.html" $metrics &
picture=$!
kubectl apply -f deploy/tools/local/examples/web.yaml
kubectl wait --for=condition=Synced --timeout=3m service/web
limits() { # ACTION:CALLS …, in a minute
	actions=$(for limit in "$@"; do printf '"slb/%s": {"calls": %s, "window": "60s"},' "${limit%:*}" "${limit#*:}"; done)
	curl -sf -X PUT "$OPENAPISIM_ADMIN/admin/limits" -d "{\"enabled\": true, \"actions\": {${actions%,}}}" >/dev/null
}
service() { # NAME
	sed "s/name: web$/name: $1/; s/app: web/app: $1/" deploy/tools/local/examples/web.yaml
}
service wrong | kubectl apply -f -
kubectl annotate service/wrong service.beta.kubernetes.io/alibaba-cloud-loadbalancer-scheduler=fastest
service idle | kubectl apply -f -
kubectl scale deployment/idle --replicas=0
for n in $(seq 1 12); do
	service "web-$n" | kubectl apply -f -
	sleep 8
	kubectl scale "deployment/web-$n" --replicas=$((n % 5))
	case $n in
	3) limits CreateVServerGroup:2 CreateLoadBalancer:2 SetVServerGroupAttribute:2 ModifyVServerGroupBackendServers:2 AddVServerGroupBackendServers:2 ;;
	9) limits CreateVServerGroup:90 CreateLoadBalancer:60 SetVServerGroupAttribute:90 ModifyVServerGroupBackendServers:90 AddVServerGroupBackendServers:90 ;;
	esac
done
for n in $(seq 1 2 12); do
	kubectl delete "service/web-$n" --wait=false
	sleep 4
done
shoot() { # FILE SIZE URL
	"$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$dir/browser" --window-size="$2" \
		--screenshot="$to/$1" "$3" >/dev/null 2>&1
}
mkdir -p "$to"
shoot console.png 780,900 "$OPENAPISIM_ADMIN/console/service/default/web"
wait $picture
shoot dashboard.png 1240,2150 "file://$dir/dashboard.html"
ls -l "$to"
