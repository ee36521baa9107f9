#!/usr/bin/env bash
# chart.sh HELM: renders the chart, as it comes and with everything that is off by
# default, and has lethe check the configuration in it.
set -euo pipefail
cd "$(dirname "$0")/.."
helm=$1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# As its secret would give them.
export LETHE_DATABASE_URL=postgres://lethe@db/lethe LETHE_ROOT_ACCESS_KEY=chart LETHE_ROOT_SECRET=not-a-secret-of-anybody
export AWS_ACCESS_KEY_ID=chart AWS_SECRET_ACCESS_KEY=not-a-secret-of-anybody

render() { "$helm" template chart deploy/helm/lethe --kube-version v1.31.0 "$@"; }
# validate [OPTION..]: the configuration of a chart is one that lethe takes.
validate() {
	render --show-only templates/configmap.yaml "$@" | sed '1,/lethe.yaml: |/d; s/^    //' >"$scratch/lethe.yaml"
	go run ./cmd/lethe config validate --config "$scratch/lethe.yaml"
}
# kinds [OPTION..]: what a chart makes, each kind once.
kinds() { render "$@" | sed -n 's/^kind: //p' | LC_ALL=C sort -u | tr '\n' ' '; }
# expect WHAT WANT GOT
expect() {
	[ "$2" = "$3" ] || {
		printf 'chart.sh: %s makes\n  %s\nand should make\n  %s\n' "$1" "$3" "$2" >&2
		exit 1
	}
}

expect "the chart as it comes" "ConfigMap Deployment PodDisruptionBudget Service ServiceAccount " "$(kinds)"
expect "a single instance" "ConfigMap Service ServiceAccount StatefulSet " "$(kinds --set single.enabled=true)"
all=(--set ingress.enabled=true --set ingress.s3Host=s3.example.org --set ingress.pasteHost=p.example.org
	--set console.enabled=true --set console.host=lethe.example.org --set console.tls[0].secretName=console
	--set serviceMonitor.enabled=true --set prometheusRule.enabled=true --set admin.enabled=true
	--set autoscaling.enabled=true --set reclaim.replicas=2 --set podDisruptionBudget.enabled=false)
expect "everything that is off by default" \
	"ConfigMap Deployment HorizontalPodAutoscaler Ingress PrometheusRule Service ServiceAccount ServiceMonitor " "$(kinds "${all[@]}")"
validate
(unset LETHE_DATABASE_URL && validate --set single.enabled=true)
# env NAME [OPTION..]: the value of a variable of the instances, each once.
env() { render "${@:2}" | grep -A1 -- "- name: $1\$" | sed -n 's/^ *value: "\(.*\)"/\1/p' | LC_ALL=C sort -u; }
expect "the chart as it comes" 127.0.0.1:9004 "$(env LETHE_SERVER_CONSOLE_LISTEN)"
expect "a console" 0.0.0.0:9004 "$(env LETHE_SERVER_CONSOLE_LISTEN "${all[@]}")"
expect "a console's ingress" https://lethe.example.org "$(env LETHE_SERVER_CONSOLE_PUBLIC_URL "${all[@]}")"
expect "a console's service" "chart-console " "$(render "${all[@]}" --show-only templates/services.yaml | sed -n 's/^  name: \(.*-console\)/\1/p' | tr '\n' ' ')"
expect "a console's ingresses" "chart chart-console " "$(render "${all[@]}" --show-only templates/ingress.yaml | sed -n 's/^  name: //p' | tr '\n' ' ')"
# The rules arrive as Prometheus has them, with the templates in their texts.
render --set prometheusRule.enabled=true --show-only templates/prometheusrule.yaml | sed '1,/^spec:/d; s/^  //' >"$scratch/alerts.yaml"
diff <(grep . deploy/prometheus/alerts.yaml) <(grep . "$scratch/alerts.yaml")
