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

render >/dev/null
render --set ingress.enabled=true --set ingress.s3Host=s3.example.org --set ingress.pasteHost=p.example.org \
	--set serviceMonitor.enabled=true --set reclaim.replicas=2 --set podDisruptionBudget.enabled=false >/dev/null
render --show-only templates/configmap.yaml | sed '1,/lethe.yaml: |/d; s/^    //' >"$scratch/lethe.yaml"
go run ./cmd/lethe config validate --config "$scratch/lethe.yaml"
