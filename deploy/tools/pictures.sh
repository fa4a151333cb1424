#!/bin/sh
# make pictures: takes those of docs/pictures from a run of the local world. The console is openapisim's; the dashboard is drawn from the
# metrics of the processes, as Grafana would draw it. It needs kubectl, and a browser from Debian's package chromium.
set -eu
missing=$(for program in kubectl chromium; do command -v $program >/dev/null || echo $program; done)
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
# What happens in a cluster on a quiet day: Services come, get more servers, change and go.
for n in $(seq 1 12); do
	sed "s/name: web$/name: web-$n/; s/app: web/app: web-$n/" deploy/tools/local/examples/web.yaml | kubectl apply -f -
	sleep 8
	kubectl scale "deployment/web-$n" --replicas=$((n % 5))
done
for n in $(seq 1 2 12); do
	kubectl delete "service/web-$n"
	sleep 4
done
shoot() { # FILE SIZE URL
	chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$dir/browser" --window-size="$2" \
		--screenshot="$to/$1" "$3" >/dev/null 2>&1
}
mkdir -p "$to"
shoot console.png 780,900 "$OPENAPISIM_ADMIN/console/service/default/web"
wait $picture
shoot dashboard.png 1240,1080 "file://$dir/dashboard.html"
ls -l "$to"
