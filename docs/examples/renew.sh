#!/bin/sh
# Renews certificates that end within a time, and rolls out what is rendered. For cron, in a clone
# that stays: with cluster.yaml, its bundle, and the review twin in review; the git tag running is
# what all machines run. Once it has stopped, the same command goes on. docs/unattended.md explains
# it.
#
#   renew.sh 60d KUBECONFIG [FLAG...]    FLAGs are those of kiln roll that say how to reach machines
set -eu
within=${1:?the first word is a time, such as 60d} kubeconfig=${2:?the second word is a kubeconfig}
shift 2

# roll rolls out the documents in nodes, which are those of the tag rolling.
roll() {
  kiln roll running:review nodes --kubeconfig "$kubeconfig" "$@"
  git tag --force running 'rolling^{}'
  git tag --delete rolling
}
# A roll-out that has not ended goes first: its machines run documents of two states.
! git rev-parse --quiet --verify refs/tags/rolling >/dev/null || roll "$@"

git diff --quiet HEAD -- cluster.yaml || {
  echo "renew.sh: cluster.yaml has changes that are not committed" >&2
  exit 1
}
kiln render cluster.yaml --out nodes --review review
status=0
due=$(kiln certs review --fail-within "$within" 2>&1 >/dev/null) || status=$?
case $status,$due in
0,*) ;;
3,*'kiln secrets renew'*)
  kiln secrets renew cluster.yaml
  kiln render cluster.yaml --out nodes --review review
  ;;
3,*) ;; # something that kiln does not renew: the last line says it
*)
  echo "$due" >&2
  exit "$status"
  ;;
esac
# Also what a call that was cut off has rendered.
git add -A review
git diff --cached --quiet -- review ||
  git commit -q -m 'The review twin is rendered again' -- review
git tag rolling
roll "$@"
# Exit code 3 if something else ends: a CA, or a certificate of your own.
kiln certs running:review --fail-within "$within" >/dev/null
