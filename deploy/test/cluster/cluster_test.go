//go:build linux

package cluster

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/test/cases"
	"alicloud-controllers.dev/deploy/tools/local/cloud"
	"alicloud-controllers.dev/deploy/tools/local/pki"
	"alicloud-controllers.dev/deploy/tools/local/proc"
)

// cluster is a Kubernetes with real nodes in a VPC of the simulated cloud.
type cluster struct {
	built  built
	dir    string
	nodes  []*node
	client *kubernetes.Clientset
	cloud  *cloud.Client
	ca     string
	// authority has signed what listens with TLS.
	authority *pki.Authority
	tokens    map[string]string // by user
	secret    string            // of the AccessKey
	port      int               // of the Service that changes
	host      string            // where the simulated cloud listens
	before    []string          // the objects that were there before the installation
	// components are further values of the chart's components.
	components string
	// chart takes the place of deploy/chart in the commands of the docs, if it is given.
	chart string
}

const (
	apiServer   = "https://" + vpcRouter + ":6443"
	accessKeyID = "LTAI5tClusterTest"
	vpcID       = "vpc-bp1example" // as in docs/install.md
	vswitchID   = "vsw-bp1example"
)

// boot starts a control plane and nodes, on which nothing runs but the simulated cloud.
func boot(t *testing.T, nodes int) *cluster {
	t.Helper()
	c := start(t, nodes)
	c.simulate(t)
	return c
}

// start starts a control plane and nodes, on which nothing runs.
func start(t *testing.T, nodes int) *cluster {
	t.Helper()
	if skip != "" {
		t.Skip(skip)
	}
	c := &cluster{dir: os.Getenv(workVariable), tokens: map[string]string{}, secret: rand.Text(), port: 8000}
	text, err := os.ReadFile(filepath.Join(c.dir, "built.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c.built); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(c.built.Root, "deploy"), filepath.Join(c.dir, "deploy")); err != nil {
		t.Fatal(err)
	}
	// The network of the VPC: a switch, and a router that knows what the route table says.
	if err := script(nil, "ip link set lo up", "ip link add vpc0 type bridge", "ip addr add "+vpcRouter+"/24 dev vpc0", "ip link set vpc0 up",
		"echo 1 >/proc/sys/net/ipv4/ip_forward", "echo 0 >/proc/sys/net/ipv4/conf/vpc0/send_redirects",
		"ip route add default via 192.168.77.254"); err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		n, err := newNode(c.dir, i+1)
		if err != nil {
			t.Fatal(err)
		}
		c.nodes = append(c.nodes, n)
	}
	if err := c.controlPlane(t.Context()); err != nil {
		t.Fatal(err)
	}
	ready := make(chan error, nodes)
	for _, n := range c.nodes {
		go func() {
			err := n.run(t.Context(), c.built.Images)
			if err == nil {
				err = n.join(c)
			}
			ready <- err
		}()
	}
	for range nodes {
		if err := <-ready; err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range c.nodes {
		c.plug(t, n)
	}
	return c
}

// plug waits until a node has a range for its pods, and lets them have it.
func (c *cluster) plug(t *testing.T, n *node) {
	t.Helper()
	c.wait(t, n.host+" gets a range for its pods", func(ctx context.Context) error {
		object, err := c.client.CoreV1().Nodes().Get(ctx, n.name, metav1.GetOptions{})
		if err == nil && object.Spec.PodCIDR == "" {
			err = fmt.Errorf("it has none: %s", proc.Tail(n.kubelet.LogFile()))
		}
		n.pods = object.Spec.PodCIDR
		return err
	})
	if err := n.plug(); err != nil {
		t.Fatal(err)
	}
}

// controlPlane starts what runs Kubernetes, at the address of the VPC's router.
func (c *cluster) controlPlane(ctx context.Context) error {
	ca, err := pki.New(c.dir)
	if err != nil {
		return err
	}
	c.ca, c.authority = ca.File(), ca
	serving, err := ca.Serving("kube-apiserver", "kubernetes.default.svc", "10.96.0.1", vpcRouter)
	if err != nil {
		return err
	}
	private, public, err := ca.SigningKey("service-account")
	if err != nil {
		return err
	}
	groups := map[string]string{"admin": "system:masters", "system:kube-controller-manager": "",
		"system:kube-scheduler": "", "system:kube-proxy": ""}
	for _, n := range c.nodes {
		groups["system:node:"+n.name] = "system:nodes"
	}
	for _, column := range cases.Columns() {
		groups[string(column)] = "system:masters"
	}
	var lines strings.Builder
	for user, group := range groups {
		c.tokens[user] = rand.Text()
		fmt.Fprintf(&lines, "%s,%s,%s,%q\n", c.tokens[user], user, user, group)
		if err := c.writeKubeconfig(user); err != nil {
			return err
		}
	}
	tokens := filepath.Join(c.dir, "tokens.csv")
	if err := os.WriteFile(tokens, []byte(lines.String()), 0o600); err != nil {
		return fmt.Errorf("write tokens: %w", err)
	}
	policy := filepath.Join(c.dir, "audit.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return fmt.Errorf("write the audit policy: %w", err)
	}
	cfg, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig("admin"))
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	cfg.QPS, cfg.Burst = 200, 400
	if c.client, err = kubernetes.NewForConfig(cfg); err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	k := c.built.Kubernetes
	for _, spec := range []proc.Spec{
		{
			Name: "etcd", Path: k.Etcd, Ready: answers("http://127.0.0.1:2379/health"),
			Args: []string{"--data-dir=" + filepath.Join(c.dir, "etcd"), "--unsafe-no-fsync", "--log-level=warn"},
		},
		{
			Name: "kube-apiserver", Path: k.APIServer, Ready: answers(apiServer + "/readyz"),
			Args: []string{
				"--etcd-servers=http://127.0.0.1:2379", "--bind-address=0.0.0.0", "--advertise-address=" + vpcRouter, "--secure-port=6443",
				"--tls-cert-file=" + serving.CertFile, "--tls-private-key-file=" + serving.KeyFile, "--token-auth-file=" + tokens,
				"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=" + public,
				"--service-account-signing-key-file=" + private, "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
				"--service-cluster-ip-range=" + serviceNet, "--allow-privileged=true", "--kubelet-preferred-address-types=InternalIP",
				"--shutdown-delay-duration=0s", "--profiling=false", "--audit-policy-file=" + policy, "--audit-log-path=" + c.auditLog(),
			},
		},
		{
			Name: "kube-controller-manager", Path: c.built.Node.ControllerManager, Ready: answers("https://127.0.0.1:10257/healthz"),
			Args: []string{
				"--kubeconfig=" + c.kubeconfig("system:kube-controller-manager"), "--leader-elect=false", "--cloud-provider=external",
				"--allocate-node-cidrs", "--cluster-cidr=" + podRange, "--service-cluster-ip-range=" + serviceNet, "--root-ca-file=" + c.ca,
				"--service-account-private-key-file=" + private, "--use-service-account-credentials",
			},
		},
		{
			Name: "kube-scheduler", Path: c.built.Node.Scheduler, Ready: answers("https://127.0.0.1:10259/healthz"),
			Args: []string{"--kubeconfig=" + c.kubeconfig("system:kube-scheduler"), "--leader-elect=false"},
		},
	} {
		spec.LogFile = filepath.Join(c.dir, spec.Name+".log")
		if err := launch(ctx, spec); err != nil {
			return err
		}
	}
	return nil
}

// answers reports nil when url answers 200.
func answers(url string) func(context.Context) error {
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, // The question is whether it is up.
	}}
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		resp, err := client.Do(req)
		if err != nil {
			return fmt.Errorf("ask %s: %w", url, err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("ask %s: %s", url, resp.Status)
		}
		return nil
	}
}

func (c *cluster) kubeconfig(user string) string {
	return filepath.Join(c.dir, strings.ReplaceAll(user, ":", "-")+".kubeconfig")
}

func (c *cluster) writeKubeconfig(user string) error {
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: apiServer, CertificateAuthority: c.ca}
	config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: c.tokens[user]}
	config.Contexts["cluster"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: user}
	config.CurrentContext = "cluster"
	return clientcmd.WriteToFile(*config, c.kubeconfig(user))
}

// pollInterval is short against what is measured, and patience long against what a machine with other work takes.
const pollInterval, patience = 50 * time.Millisecond, 4 * time.Minute

// wait asks until the condition holds, and fails the test with the last answer if it never does. It returns how long that took.
func (c *cluster) wait(t *testing.T, what string, condition func(context.Context) error) time.Duration {
	t.Helper()
	begin := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		err := condition(ctx)
		if err == nil {
			return time.Since(begin)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v\n%s", what, patience, err, c.describe(t))
		case <-tick.C:
		}
	}
}

// describe is what a person would look at.
func (c *cluster) describe(t *testing.T) string {
	out, _ := c.command(context.WithoutCancel(t.Context()),
		"kubectl get nodes,pods,services -A -o wide; kubectl get events -A --sort-by=.lastTimestamp | tail -30").CombinedOutput()
	return string(out)
}

// command is one of the shell's, as the docs have them; the directory has values.yaml and what they look for in the source tree.
func (c *cluster) command(ctx context.Context, text string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "sh", "-ec", text)
	cmd.Dir = c.dir
	path := filepath.Dir(c.built.Node.Kubectl) + ":" + filepath.Dir(c.built.Node.Helm) + ":" + os.Getenv("PATH")
	cmd.Env = append(os.Environ(), "PATH="+path, "KUBECONFIG="+c.kubeconfig("admin"), "HOME="+c.dir)
	return cmd
}

// run runs a command that must succeed.
func (c *cluster) run(t *testing.T, text string) string {
	t.Helper()
	out, err := c.command(t.Context(), text).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", text, err, out, c.describe(t))
	}
	return string(out)
}

// apply has kubectl make objects.
func (c *cluster) apply(t *testing.T, manifest string) {
	t.Helper()
	cmd := c.command(t.Context(), "kubectl apply -f -")
	cmd.Stdin = strings.NewReader(manifest)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("apply: %v\n%s\n%s", err, out, manifest)
	}
}

// seed is what the simulated cloud holds from the start: the VPC and its machines.
func (c *cluster) seed(t *testing.T) string {
	t.Helper()
	seed := state.Cloud{
		Vpcs: map[string]*state.Vpc{vpcID: {ID: vpcID, Name: "test", CidrBlock: "192.168.0.0/16"}},
		VSwitches: map[string]*state.VSwitch{vswitchID: {ID: vswitchID, VpcID: vpcID, ZoneID: region + "-h", Name: "a",
			CidrBlock: vpcRange, RouteTableID: "vtb-test"},
			// A Network Load Balancer has two zones.
			"vsw-other": {ID: "vsw-other", VpcID: vpcID, ZoneID: region + "-i", Name: "b", CidrBlock: "192.168.78.0/24", RouteTableID: "vtb-test"}},
		RouteTables: map[string]*state.RouteTable{"vtb-test": {ID: "vtb-test", VpcID: vpcID, Name: "system", Type: "System"}},
		Instances:   map[string]*state.Instance{}, Interfaces: map[string]*state.NetworkInterface{},
	}
	for i, n := range c.nodes {
		seed.Instances[n.instance] = &state.Instance{
			ID: n.instance, Name: n.host, HostName: n.host, ZoneID: region + "-h", InstanceType: "ecs.g7.xlarge", Status: "Running",
			ChargeType: "PostPaid", SpotStrategy: "NoSpot", VpcID: vpcID, VSwitchID: vswitchID, PrivateIPs: []string{n.address.String()},
		}
		eni := fmt.Sprintf("eni-node%04d", i+1)
		seed.Interfaces[eni] = &state.NetworkInterface{
			ID: eni, Type: "Primary", Status: "InUse", InstanceID: n.instance, VpcID: vpcID, VSwitchID: vswitchID, ZoneID: region + "-h",
			MacAddress: fmt.Sprintf("00:16:3e:00:00:%02x", i+1), PrimaryIP: n.address.String(),
			PrivateIPs: []string{n.address.String()}, SourceDestCheck: true,
		}
		// Where pods are backends, their addresses are those of a network interface.
		eni = fmt.Sprintf("eni-pods%04d", i+1)
		seed.Interfaces[eni] = &state.NetworkInterface{
			ID: eni, Type: "Secondary", Status: "InUse", InstanceID: n.instance, VpcID: vpcID, VSwitchID: vswitchID, ZoneID: region + "-h",
			MacAddress: fmt.Sprintf("00:16:3e:00:01:%02x", i+1), PrivateIPs: addresses(n.pods),
		}
	}
	text, err := json.Marshal(seed)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// simulate runs the cloud as a pod on the network of the first node, and lets the router of the VPC follow its route table.
func (c *cluster) simulate(t *testing.T) {
	t.Helper()
	replace := strings.NewReplacer("$NODE", c.nodes[0].name, "$SEED", c.seed(t), "$SECRET", c.secret, "$ID", accessKeyID, "$TAG", c.tag(t))
	manifest, err := os.ReadFile(filepath.Join(c.built.Root, "deploy/test/cluster/testdata/openapisim.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// Every machine of a VPC finds the metadata service at the same address.
	if err := errors.Join(script(c.nodes[0].enter(), "ip addr add "+metadataService+"/32 dev lo"),
		script(nil, "ip route add "+metadataService+" via "+c.nodes[0].address.String())); err != nil {
		t.Fatal(err)
	}
	text := replace.Replace(string(manifest))
	if c.built.Ours != c.built.Images { // It comes out of the registry.
		text = strings.ReplaceAll(text, "imagePullPolicy: Never", "imagePullPolicy: IfNotPresent")
	}
	c.apply(t, text)
	c.host = c.nodes[0].address.String()
	c.cloud = cloud.New("http://" + c.host + ":9100")
	c.wait(t, "the simulated cloud answers", c.cloud.Healthy)
	go c.route(t.Context())
}

// addresses are those that pods may get of a range of 256.
func addresses(podCIDR string) (all []string) {
	const first, last = 2, 254 // as the network plugin gives them
	parts := netip.MustParsePrefix(podCIDR).Addr().As4()
	for i := first; i <= last; i++ {
		parts[3] = byte(i)
		all = append(all, netip.AddrFrom4(parts).String())
	}
	return all
}

// tag is that of our images.
func (c *cluster) tag(t *testing.T) string {
	t.Helper()
	tars, err := filepath.Glob(filepath.Join(c.built.Ours, "openapisim-*.tar"))
	if err != nil || len(tars) != 1 {
		t.Fatalf("images of the simulated cloud: %q, %v", tars, err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(tars[0]), "openapisim-"), ".tar")
}

// route is the router of the VPC: it sends packets to pods where the route table says.
func (c *cluster) route(ctx context.Context) {
	known := map[string]string{}
	for tick := time.Tick(pollInterval); ctx.Err() == nil; <-tick {
		s, err := c.cloud.State(ctx)
		if err != nil {
			continue // It is asked again.
		}
		wanted := map[string]string{}
		for _, table := range s.RouteTables {
			for _, entry := range table.Entries {
				if instance := s.Instances[entry.NextHopID]; instance != nil && entry.Status == "Available" {
					wanted[entry.Cidr] = instance.PrivateIPs[0]
				}
			}
		}
		for destination := range known {
			if wanted[destination] == "" && script(nil, "ip route del "+destination) == nil {
				delete(known, destination)
			}
		}
		for destination, via := range wanted {
			if known[destination] != via && script(nil, "ip route replace "+destination+" via "+via) == nil {
				known[destination] = via
			}
		}
	}
}

// load asks a URL again and again, from where the simulated cloud runs. The returned function ends it and says what it saw.
func (c *cluster) load(t *testing.T, urls ...string) (stop func() seen) {
	t.Helper()
	program := filepath.Join(c.dir, "load")
	if err := os.Link(c.built.Echo, program); err != nil && !os.IsExist(err) {
		t.Fatal(err)
	}
	// A load balancer keeps the address of the client, and nobody answers to loopback from another machine.
	words := append(c.nodes[0].enter(), "--", program, c.nodes[0].address.String())
	if c.host == vpcRouter { // The cloud is beside the clients.
		words = []string{program, client}
	}
	cmd := exec.Command(words[0], append(words[1:], urls...)...) // It ends with the sandbox.
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return func() seen {
		t.Helper()
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("load: %v\n%s", err, problem.String())
		}
		var s seen
		if err := json.Unmarshal(out.Bytes(), &s); err != nil {
			t.Fatalf("load: %v\n%s", err, out.String())
		}
		return s
	}
}

// seen is what the program in echo writes.
type seen struct {
	Answered int
	Hosts    map[string]int
	URLs     map[string]int
	Failed   []string
}

// taints are the keys of a node's taints.
func taints(n *corev1.Node) []string {
	var keys []string
	for _, taint := range n.Spec.Taints {
		keys = append(keys, taint.Key)
	}
	return keys
}
