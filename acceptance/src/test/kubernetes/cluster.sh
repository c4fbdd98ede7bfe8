#!/usr/bin/env bash
# A whole Kubernetes on this machine, for tests of the chart: etcd, API server, controllers, scheduler, kubelet and
# kube-proxy in one program (kubernetes.go), CoreDNS, helm, and Debian's containerd with runc. Root, no registry of
# images, no systemd.
#
#   cluster.sh build                    the programs, once (20 minutes on two cores); prints the folder that they are in
#   cluster.sh DIR up ARCHIVE...        starts it, with one node that runs pods of these images (and pause among them)
#   cluster.sh DIR in COMMAND...        runs a command where its addresses are, with its kubectl and helm on the PATH
#   cluster.sh DIR load ARCHIVE...      more images, as `podman save` writes them
#   cluster.sh DIR pretend NAME [CARDS] adds a node that exists by name only, with so many nvidia.com/gpu: its pods stay Pending
#   cluster.sh DIR down                 ends all of it, and leaves the logs
#
# Everything is in a network namespace of its own, so addresses, routes and packet filters of the machine stay as they
# are. Pods are 10.244.0.0/24, Services 10.96.0.0/16, the node and its DNS 10.244.255.1.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here NODE=node-1 NODE_IP=10.244.255.1 PODS=10.244.0.0/24 SERVICES=10.96.0.0/16
readonly KUBERNETES=1.37.2 COREDNS=1.15.0 HELM=4.3.1
readonly PATIENCE_SECONDS=600
PATH=$PATH:/usr/sbin:/sbin

die() { echo "cluster: $*" >&2; exit 1; }

# --- the programs ---------------------------------------------------------------------------------

# a folder for each set of sources, so that nobody waits for what is built already
sources=$(cat "$here"/{go.mod,go.sum,kubernetes.go,pause/pause.go} | sha256sum | cut -c1-12)
bin=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/warmpath/kubernetes-$KUBERNETES-$sources
readonly sources bin

build() {
  [ ! -x "$bin/helm" ] || return 0
  local version=k8s.io/component-base/version making
  mkdir -p "${bin%/*}"
  making=$(mktemp -d "$bin.XXXXXX")                         # of this build alone: another one may be under way
  trap "rm -rf '$making'" EXIT                              # with its value of now
  cd "$here"
  export CGO_ENABLED=0
  # without a version it would be v0.0.0, which charts refuse
  go build -o "$making/kubernetes" -ldflags "-s -w -X $version.gitVersion=v$KUBERNETES
    -X $version.gitMajor=${KUBERNETES%%.*} -X $version.gitMinor=$(cut -d. -f2 <<<"$KUBERNETES")" .
  go build -o "$making/pause" -ldflags '-s -w' ./pause
  GOBIN=$making go install -ldflags '-s -w' "github.com/coredns/coredns@v$COREDNS"
  GOBIN=$making go install -ldflags '-s -w' "helm.sh/helm/v4/cmd/helm@v$HELM"
  ln -sf kubernetes "$making/kubectl"
  chmod 755 "$making"
  [ -x "$bin/helm" ] || rm -rf "$bin"
  mv -T "$making" "$bin" 2>/dev/null || [ -x "$bin/helm" ]  # which another build has made meanwhile
}

# --- in the namespace -----------------------------------------------------------------------------

namespace() { printf 'warmpath-%s' "$(printf %s "$dir" | sha256sum | cut -c1-8)"; }

# enter COMMAND...: becomes it. Not `ip netns exec`, which mounts /sys anew, and the cgroups would be gone
enter() {
  export KUBECONFIG=$dir/kubeconfig HELM_CACHE_HOME=$dir/helm HELM_CONFIG_HOME=$dir/helm HELM_DATA_HOME=$dir/helm
  export PATH=$bin:$PATH
  exec nsenter --net="/run/netns/$(namespace)" "$@"
}

inside() { (enter "$@"); }

k() { inside "$bin/kubectl" "$@"; }

containers() { inside ctr --address "$dir/containerd.sock" --namespace k8s.io "$@"; }

# start NAME COMMAND...: its output goes to NAME.log, its id into the list
start() {
  local name=$1
  shift
  (enter setsid "$@") >"$dir/$name.log" 2>&1 </dev/null &
  echo "$!" >>"$dir/pids"
}

# await WHAT COMMAND...
await() {
  local what=$1 end=$((SECONDS + PATIENCE_SECONDS))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$end" ] || die "$what: not within $PATIENCE_SECONDS s; logs are in $dir"
    sleep 0.5
  done
}

up() {
  [ -x "$bin/helm" ] || die "the programs are not there: $0 build"
  mkdir -p "$dir"/{cni,certificates,manifests}
  : >"$dir/pids"
  ip netns add "$(namespace)"
  inside ip link set lo up
  # the node is an address of its own, by which pods reach it; what goes to a Service is routed into the packet filter
  inside ip address add "$NODE_IP/32" dev lo
  inside ip route add "$SERVICES" dev lo src "$NODE_IP"
  inside sysctl -qw net.ipv4.ip_forward=1
  control_plane
  runtime
  load "$@"
  node
}

control_plane() {
  local token keys=$dir/certificates
  token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
  (umask 077 && printf '%s,admin,admin,"system:masters"\n' "$token" >"$dir/tokens.csv")
  openssl genpkey -quiet -algorithm RSA -out "$keys/accounts.key"
  cat >"$dir/kubeconfig" <<YAML
apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: "https://127.0.0.1:6443", insecure-skip-tls-verify: true}}]
users: [{name: admin, user: {token: "$token"}}]
contexts: [{name: test, context: {cluster: test, user: admin}}]
current-context: test
YAML
  chmod 600 "$dir/kubeconfig"
  start etcd "$bin/kubernetes" etcd --data-dir "$dir/etcd" --unsafe-no-fsync \
    --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379 \
    --listen-peer-urls http://127.0.0.1:2380
  start apiserver "$bin/kubernetes" apiserver --etcd-servers http://127.0.0.1:2379 \
    --bind-address 127.0.0.1 --advertise-address 127.0.0.1 --cert-dir "$keys" --endpoint-reconciler-type none \
    --token-auth-file "$dir/tokens.csv" --authorization-mode RBAC --service-cluster-ip-range "$SERVICES" \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$keys/accounts.key" \
    --service-account-signing-key-file "$keys/accounts.key" --kubelet-preferred-address-types InternalIP
  await "the API server answers" k get --raw /readyz
  # nobody watches over nodes: those that exist by name only would be given up
  start controllers "$bin/kubernetes" controllers --kubeconfig "$dir/kubeconfig" --bind-address 127.0.0.1 \
    --cert-dir "$keys" --root-ca-file "$keys/apiserver.crt" --service-account-private-key-file "$keys/accounts.key" \
    --use-service-account-credentials --leader-elect=false \
    --controllers '*,-node-lifecycle-controller,-taint-eviction-controller'
  start scheduler "$bin/kubernetes" scheduler --kubeconfig "$dir/kubeconfig" --bind-address 127.0.0.1 \
    --cert-dir "$keys" --leader-elect=false
  await "a namespace has its account" k get serviceaccount default
}

# Scores for the kernel's choice of victims stay as they are: root of a container may not lower them.
runtime() {
  cat >"$dir/containerd.toml" <<TOML
version = 2
root = "$dir/containerd"
state = "$dir/containerd-state"
[grpc]
  address = "$dir/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:latest"
  disable_apparmor = true
  restrict_oom_score_adj = true
  netns_mounts_under_state_dir = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "$dir/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
TOML
  cat >"$dir/cni/pods.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipMasq": false, "ipam": {
  "type": "host-local", "dataDir": "$dir/addresses", "ranges": [[{"subnet": "$PODS"}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
JSON
  start containerd containerd --config "$dir/containerd.toml"
  await "containerd answers" containers version
}

load() {
  local archive
  for archive in "$@"; do containers images import "$archive" >/dev/null; done
}

node() {
  cat >"$dir/Corefile" <<TEXT
.:53 {
  bind $NODE_IP
  errors
  kubernetes cluster.local in-addr.arpa {
    kubeconfig $dir/kubeconfig test
    ttl 0
  }
}
TEXT
  : >"$dir/resolv.conf"
  # neither the kernel's settings nor cgroups outside of its containers' are the kubelet's here
  cat >"$dir/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $NODE_IP
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
authorization: {mode: AlwaysAllow}
containerRuntimeEndpoint: unix://$dir/containerd.sock
clusterDNS: [$NODE_IP]
clusterDomain: cluster.local
resolvConf: $dir/resolv.conf
podLogsDir: $dir/logs
cgroupDriver: cgroupfs
cgroupsPerQOS: false
enforceNodeAllocatable: []
failCgroupV1: false
failSwapOn: false
localStorageCapacityIsolation: false
makeIPTablesUtilChains: false
imageMinimumGCAge: 24h
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 100Mi, nodefs.available: 1%, imagefs.available: 1%}
YAML
  start coredns "$bin/coredns" -conf "$dir/Corefile"
  start proxy "$bin/kubernetes" proxy --kubeconfig "$dir/kubeconfig" --hostname-override "$NODE" --cluster-cidr "$PODS" \
    --proxy-mode nftables --conntrack-max-per-core 0 --conntrack-tcp-timeout-established 0s \
    --conntrack-tcp-timeout-close-wait 0s
  start kubelet "$bin/kubernetes" kubelet --config "$dir/kubelet.yaml" --kubeconfig "$dir/kubeconfig" \
    --root-dir "$dir/kubelet" --cert-dir "$dir/certificates" --hostname-override "$NODE" --node-ip "$NODE_IP" \
    --node-labels topology.kubernetes.io/zone=zone-1
  await "the node has come" k get node "$NODE"
  k wait --for=condition=Ready "node/$NODE" --timeout="${PATIENCE_SECONDS}s" >/dev/null
  untaint "$NODE"
}

# who would do it is off, see the controllers
untaint() { k patch node "$1" --type merge -p '{"spec": {"taints": null}}' >/dev/null; }

pretend() {
  local name=$1 resources
  resources='{"cpu": "64", "memory": "512Gi", "pods": "250", "ephemeral-storage": "500Gi", "nvidia.com/gpu": "'${2:-0}'"}'
  k create -f - >/dev/null <<YAML
apiVersion: v1
kind: Node
metadata:
  name: $name
  labels: {kubernetes.io/hostname: $name, kubernetes.io/os: linux, topology.kubernetes.io/zone: zone-1}
YAML
  k patch node "$name" --subresource status --type merge -p '{"status": {
    "capacity": '"$resources"', "allocatable": '"$resources"',
    "conditions": [{"type": "Ready", "status": "True", "reason": "Pretended"}]}}' >/dev/null
  untaint "$name"
}

# --- the end --------------------------------------------------------------------------------------

# Those of the list that still are what was started, by what they run on.
is_ours() { grep -qaF -e "$dir/" -e "$bin/" "/proc/$1/cmdline" 2>/dev/null; }

end() {
  local waited
  is_ours "$1" || return 0
  kill "$1" 2>/dev/null || true
  for ((waited = 0; waited < 40; waited++)); do is_ours "$1" || return 0; sleep 0.25; done
  kill -9 "$1" 2>/dev/null || true
}

down() {
  local id process point
  [ -d "$dir" ] || return 0
  # the kubelet and what else would start containers anew first
  for id in $(tac "$dir/pids" 2>/dev/null); do
    grep -qzx -e kubelet -e proxy "/proc/$id/cmdline" 2>/dev/null && end "$id"
  done
  if [ -S "$dir/containerd.sock" ]; then
    for id in $(containers tasks list -q); do containers tasks kill --signal KILL "$id" || true; done >/dev/null 2>&1
    await "containers have ended" no_task_runs
    for id in $(containers tasks list -q); do containers tasks delete "$id" || true; done >/dev/null 2>&1
    for id in $(containers containers list -q); do containers containers delete "$id" || true; done >/dev/null 2>&1
  fi
  for id in $(tac "$dir/pids" 2>/dev/null); do end "$id"; done
  for process in /proc/[0-9]*; do
    id=${process#/proc/}
    ! is_ours "$id" || ! grep -qa containerd-shim "$process/cmdline" || kill -9 "$id" 2>/dev/null || true
  done
  awk -v below="$dir/" 'index($2, below) == 1 {print $2}' /proc/self/mounts | sort -r \
    | while read -r point; do umount -l "$point"; done
  ! ip netns pids "$(namespace)" >/dev/null 2>&1 || ip netns delete "$(namespace)"
  rmdir /sys/fs/cgroup/{*/,}k8s.io 2>/dev/null || true      # where nobody else is in it
  find "$dir" -mindepth 1 -maxdepth 1 ! -name '*.log' -exec rm -rf --one-file-system {} +
}

no_task_runs() { ! containers tasks list | grep -q RUNNING; }

[ $# -gt 0 ] || die "usage: see the head of $0"
if [ "$1" = build ]; then
  (build) >&2
  echo "$bin"
  exit
fi
[ $# -gt 1 ] || die "usage: see the head of $0"
dir=$(realpath -m "$1") command=$2
shift 2
case "$command" in
  up|load|pretend|down) "$command" "$@" ;;
  in) enter "$@" ;;
  *) die "it does not know '$command'; see the head of $0" ;;
esac
