#!/bin/sh
# Renews certificates that end within a time, on all machines of a cluster. For cron or CI, in the
# clone with cluster.yaml, its bundle and the review twin in review; the git tag running is what all
# machines run. Once it has stopped, the same command goes on. docs/unattended.md explains it.
#
#   renew.sh 60d KUBECONFIG [FLAG...]    FLAGs are those of kiln roll that say how to reach machines
set -eu
within=$1 kubeconfig=$2
shift 2

kiln render cluster.yaml --out nodes --review review
due=$(kiln certs review --fail-within "$within" 2>&1 >/dev/null) || [ $? = 3 ]
case $due in
*'kiln secrets renew'*)
  kiln secrets renew cluster.yaml
  kiln render cluster.yaml --out nodes --review review
  git commit -q -m 'Certificates are renewed' review
  ;;
esac
kiln roll running:review nodes --kubeconfig "$kubeconfig" "$@"
git tag --force running
# Exit code 3 if something else ends: a CA, or a certificate of your own.
kiln certs running:review --fail-within "$within" >/dev/null
