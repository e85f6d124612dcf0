#!/usr/bin/env bash
# The tests that need rights on the machine, or packages of its own: they mount small file systems, step clocks, put
# other people's servers and clients through the sidecar, look at its pages in a browser, and plant faults.
#
#   run.sh [SHARD] [arguments for vitest]    one shard, or all of them one after the other
set -eu
cd "$(dirname "$0")/../.."
# The current Node comes with the packages, as it does under npm.
export PATH="$PWD/node_modules/.bin:$PATH"

fail() {
  echo "test:integration: $1" >&2
  exit 1
}

shards=(servers browser tools chart faults-gate faults-wire faults-once faults-operate)
for shard in "${shards[@]}"; do
  if [ "${1:-}" = "$shard" ]; then
    shards=("$1")
    shift
    break
  fi
done

# What the tests run or load, each with the Debian package that has it.
needs=(
  mount:mount unshare:util-linux script:bsdutils faketime:faketime git:git rclone:rclone etcd:etcd-server
  chromium:chromium promtool:prometheus curl:curl
  /usr/sbin/nginx:nginx-light
  /usr/lib/nginx/modules/ngx_http_dav_ext_module.so:libnginx-mod-http-dav-ext
)
missing=()
for need in "${needs[@]}"; do
  command -v "${need%:*}" >/dev/null || [ -e "${need%:*}" ] || missing+=("${need#*:}")
done
if ((${#missing[@]} > 0)); then
  if [ "$(id -u)" -ne 0 ] || [ ! -e /etc/debian_version ]; then
    fail "not installed: ${missing[*]} (names of Debian packages). Install them and run this again."
  fi
  (
    # The servers among them are for the tests to start, not for their installation.
    policy=/usr/sbin/policy-rc.d
    if [ ! -e "$policy" ]; then
      trap 'rm -f "$policy"' EXIT
      printf '#!/bin/sh\nexit 101\n' >"$policy"
      chmod +x "$policy"
    fi
    apt-get update
    apt-get install --yes --no-install-recommends "${missing[@]}"
  )
fi

# In a mount namespace of their own, what the tests mount goes with the last of their processes, however it ends.
isolated=(unshare --mount)
[ "$(id -u)" -eq 0 ] || isolated+=(--map-root-user)
"${isolated[@]}" mount -t tmpfs -o size=64k tmpfs test/integration ||
  fail "mounting a tmpfs isn't permitted here. Run this as root, or where user namespaces are allowed."

status=0
for shard in "${shards[@]}"; do
  echo "test:integration: $shard"
  timeout --kill-after 20 540 "${isolated[@]}" vitest run --config test/integration/vitest.config.ts --project "$shard" \
    "${@//%SHARD%/$shard}" || status=$?
done
exit "$status"
