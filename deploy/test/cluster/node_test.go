//go:build linux

package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"alicloud-controllers.dev/deploy/tools/local/proc"
)

// node is a machine: a network, mounts and a host name of its own, with containerd, a kubelet and kube-proxy.
type node struct {
	name, host string // in Kubernetes, and its own
	instance   string // in the cloud
	port       string // of the network of the VPC
	pods       string // the range of their addresses
	address    netip.Addr
	dir        string
	holder     *exec.Cmd // whose namespaces they are
	// What runs beside containerd.
	proxy, kubelet *proc.Process
}

const (
	vpcRange    = "192.168.77.0/24"
	vpcRouter   = "192.168.77.1"
	podRange    = "10.244.0.0/16"
	serviceDNS  = "10.96.0.10"
	serviceNet  = "10.96.0.0/16"
	region      = "cn-hangzhou"
	firstOfHost = 10
	// metadataService is where programs on an instance ask for what that is.
	metadataService = "100.100.100.200"
)

// newNode makes the i-th machine, and plugs it into the network of the VPC.
func newNode(dir string, i int) (*node, error) {
	n := &node{host: fmt.Sprintf("node%d", i), instance: fmt.Sprintf("i-node%04d", i), port: fmt.Sprintf("vpc-%d", i),
		address: netip.AddrFrom4([4]byte{192, 168, 77, byte(firstOfHost + i)})}
	n.name, n.dir = region+"."+n.address.String(), filepath.Join(dir, n.host)
	if err := os.MkdirAll(filepath.Join(n.dir, "cni"), 0o755); err != nil { // Containers look into it.
		return nil, fmt.Errorf("make directory of %s: %w", n.host, err)
	}
	n.holder = exec.Command("/proc/self/exe") // It ends with the sandbox.
	n.holder.Env = append(os.Environ(), roleVariable+"="+roleNode, workVariable+"="+n.dir)
	n.holder.Stderr = os.Stderr
	n.holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWNET | syscall.CLONE_NEWUTS}
	out, err := n.holder.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", n.host, err)
	}
	if err := n.holder.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", n.host, err)
	}
	var ready [6]byte
	if _, err := out.Read(ready[:]); err != nil {
		return nil, fmt.Errorf("start %s: %w", n.host, err)
	}
	if err := makeCgroups(n.host); err != nil {
		return nil, err
	}
	if err := script(nil, "ip link add "+n.port+" type veth peer name eth0 netns "+fmt.Sprint(n.holder.Process.Pid),
		"ip link set "+n.port+" master vpc0 up"); err != nil {
		return nil, err
	}
	return n, script(n.enter(),
		"ip link set lo up", "ip addr add "+n.address.String()+"/24 dev eth0", "ip link set eth0 up", "ip route add default via "+vpcRouter,
		"echo 1 >/proc/sys/net/ipv4/ip_forward",
		"echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start", // The simulated cloud listens at port 80 of its load balancers.
		"iptables -t nat -A POSTROUTING -s "+podRange+" ! -d "+podRange+" -j MASQUERADE",
		// A connection that kube-proxy refuses, as long as a Service has no endpoints, is tracked until it times out, after
		// two minutes by default. Whatever comes from the same port meanwhile goes the same way, and kube-proxy has no say in
		// it.
		"echo 1 >/proc/sys/net/netfilter/nf_conntrack_tcp_timeout_syn_sent",
	)
}

// enter are the words in front of a command that runs on the node.
func (n *node) enter() []string {
	return []string{"nsenter", "--target", fmt.Sprint(n.holder.Process.Pid), "--net", "--mount", "--uts"}
}

// script runs commands of the shell, in front of which words may stand.
func script(words []string, lines ...string) error {
	text := strings.Join(lines, "\n")
	args := append(append([]string{}, words...), "sh", "-ec", text)
	if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", text, err, out)
	}
	return nil
}

// file writes a file into the node's directory and returns its path.
func (n *node) file(name, text string) (string, error) {
	path := filepath.Join(n.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

func (n *node) socket() string { return filepath.Join(n.dir, "containerd.sock") }

// program describes a process on the node.
func (n *node) program(name, path string, args ...string) proc.Spec {
	words := append(n.enter(), "--", path)
	return proc.Spec{Name: name, Path: words[0], Args: append(words[1:], args...), LogFile: filepath.Join(n.dir, name+".log")}
}

// run starts containerd with all images.
func (n *node) run(ctx context.Context, images string) error {
	config, err := n.file("containerd.toml", `version = 2
root = "`+n.dir+`/containerd"
state = "`+n.dir+`/state"
disabled_plugins = ["io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.zfs",
"io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.aufs"]
[grpc]
  address = "`+n.socket()+`"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "`+pauseImage+`"
  # A root without CAP_SYS_RESOURCE can't lower the score of a process.
  restrict_oom_score_adj = true
  enable_unprivileged_ports = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "`+cniPlugins()+`"
    conf_dir = "`+n.dir+`/cni"
`)
	if err != nil {
		return err
	}
	spec := n.program("containerd", "containerd", "--config", config)
	spec.Ready = func(ctx context.Context) error {
		return exec.CommandContext(ctx, "ctr", "--address", n.socket(), "version").Run()
	}
	if err := launch(ctx, spec); err != nil {
		return err
	}
	tars, err := filepath.Glob(filepath.Join(images, "*.tar"))
	if err != nil {
		return fmt.Errorf("find images: %w", err)
	}
	for _, tar := range tars {
		if out, err := n.ctr(ctx, "images", "import", tar); err != nil {
			return fmt.Errorf("import %s into %s: %w\n%s", filepath.Base(tar), n.host, err, out)
		}
	}
	return nil
}

// ctr asks the node's containerd.
func (n *node) ctr(ctx context.Context, args ...string) ([]byte, error) {
	words := append(n.enter(), "--", "ctr", "--address", n.socket(), "--namespace", "k8s.io")
	return exec.CommandContext(ctx, words[0], append(words[1:], args...)...).CombinedOutput()
}

// join starts kube-proxy and the kubelet, as docs/install.md says how.
func (n *node) join(c *cluster) error {
	proxy, err := n.file("kube-proxy.yaml", `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: iptables
clientConnection: {kubeconfig: `+c.kubeconfig("system:kube-proxy")+`}
clusterCIDR: `+podRange+`
# They would keep clients with another address than loopback from the load balancers of the simulated cloud, which are on loopback.
iptables: {localhostNodePorts: false}
# These are of the whole machine.
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
`)
	if err != nil {
		return err
	}
	resolv, err := n.file("resolv.conf", "nameserver "+vpcRouter+"\n")
	if err != nil {
		return err
	}
	config, err := n.file("kubelet.yaml", `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
failCgroupV1: false
cgroupDriver: cgroupfs
cgroupRoot: /`+cgroup+"/"+n.host+`
failSwapOn: false
# Pods hear of changed Secrets when they are synchronised, after a minute by default.
syncFrequency: 5s
evictionHard: {}
imageGCHighThresholdPercent: 100
containerRuntimeEndpoint: unix://`+n.socket()+`
clusterDNS: [`+serviceDNS+`]
clusterDomain: cluster.local
resolvConf: `+resolv+`
podLogsDir: `+n.dir+`/pods
# Nobody but the API server of this sandbox reaches it.
authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
# As kube-proxy's localhostNodePorts.
makeIPTablesUtilChains: false
authorization: {mode: AlwaysAllow}
`)
	if err != nil {
		return err
	}
	n.proxy = proc.New(n.program("kube-proxy", c.built.Node.Proxy, "--config="+proxy, "--hostname-override="+n.name, "--v=4"))
	n.kubelet = proc.New(n.program("kubelet", c.built.Node.Kubelet,
		"--config="+config, "--kubeconfig="+c.kubeconfig("system:node:"+n.name), "--root-dir="+filepath.Join(n.dir, "kubelet"),
		"--cert-dir="+filepath.Join(n.dir, "pki"), "--hostname-override="+n.name, "--node-ip="+n.address.String(),
		"--cloud-provider=external", "--provider-id="+region+"."+n.instance,
	))
	return errors.Join(n.proxy.Start(), n.kubelet.Start())
}

// plug is what the network plugin of a node does: the pods get the range that kube-controller-manager gave to the node.
func (n *node) plug() error {
	_, err := n.file("cni/10-pods.conflist", `{"cniVersion": "0.4.0", "name": "pods", "plugins": [{"type": "ptp", "ipMasq": false,
  "ipam": {"type": "host-local", "dataDir": "`+n.dir+`/addresses", "ranges": [[{"subnet": "`+n.pods+`"}]],
  "routes": [{"dst": "0.0.0.0/0"}]}}]}
`)
	return err
}

// leave is what happens to a machine that is taken out of service, after its Node.
func (n *node) leave() error {
	return errors.Join(n.kubelet.Stop(), n.proxy.Stop(), script(nil, "ip link set "+n.port+" down"))
}

// comeBack is the start of the machine.
func (n *node) comeBack() error {
	return errors.Join(script(nil, "ip link set "+n.port+" up"), n.proxy.Start(), n.kubelet.Start())
}

// launch starts a process and waits until it is ready; it ends with the sandbox.
func launch(ctx context.Context, spec proc.Spec) error {
	p := proc.New(spec)
	if err := p.Start(); err != nil {
		return err
	}
	return p.WaitReady(ctx)
}
