//go:build linux

package cluster

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	"alicloud-controllers.dev/deploy/test/cases"
	"alicloud-controllers.dev/deploy/tools/local/cloud"
	"alicloud-controllers.dev/deploy/tools/local/proc"
)

const (
	// upstreamAsked has the make target say that the tests of Kubernetes itself are wanted.
	upstreamAsked = "E2E_KUBERNETES"
	// reportsVariable names a directory for the reports of the tests.
	reportsVariable = "E2E_REPORTS"

	// client is where clients are that are no nodes and no pods, and internet and intranet where load balancers listen.
	client       = "203.0.113.10"
	public       = "198.18.0.0/15"
	internet     = "198.18.0.0/16"
	intranet     = "198.19.0.0/16"
	caseDeadline = 20 * time.Minute
)

// record writes into the tree what became of the cases.
var record = flag.Bool("record", false, "write "+cases.Recorded)

// TestKubernetes runs Kubernetes' own tests of load balancers, for each kind of load balancer and of servers.
func TestKubernetes(t *testing.T) {
	if os.Getenv(upstreamAsked) == "" {
		t.Skip("takes 40 minutes; run make e2e-kubernetes")
	}
	c := start(t, 3)
	c.outside(t)
	c.dns(t)
	c.install(t)
	all, err := cases.Load(c.built.Root)
	if err != nil {
		t.Fatal(err)
	}
	reports := os.Getenv(reportsVariable)
	if reports == "" {
		reports = filepath.Join(c.dir, "reports")
	}
	if err := os.MkdirAll(reports, 0o750); err != nil {
		t.Fatal(err)
	}
	c.columns(t)
	j := &judges{cluster: c, reports: reports}
	t.Run("columns", func(t *testing.T) {
		for _, column := range cases.Columns() {
			for _, k := range all {
				if k.World == cases.Kubelets && (!k.Long || !testing.Short()) {
					t.Run(string(column)+" "+k.Suite+" "+k.Name, func(t *testing.T) {
						t.Parallel()
						j.judge(t, k, column)
					})
				}
			}
		}
	})
	if *record {
		if err := cases.Update(c.built.Root, j.records); err != nil {
			t.Error(err)
		}
	}
}

// judges run cases, and keep what became of them.
type judges struct {
	cluster *cluster
	reports string // a directory

	// ports lets one case at a time choose node ports itself: each process of Kubernetes' tests knows its own only.
	ports   sync.Mutex
	mu      sync.Mutex
	records []cases.Record
}

// judge runs a case.
func (j *judges) judge(t *testing.T, k cases.Case, column cases.Column) {
	t.Helper()
	if !slices.Contains(k.Columns(), column) {
		t.Skip(k.Why)
	}
	if strings.Contains(k.Name, "HealthCheckNodePort") {
		j.ports.Lock()
		defer j.ports.Unlock()
	}
	ctx, cancel := context.WithTimeout(t.Context(), caseDeadline)
	defer cancel()
	c := j.cluster
	report := filepath.Join(j.reports, strings.ReplaceAll(string(column)+" "+k.Name, " ", "-"))
	// Cases of sig-apps know few providers by name. That of deploy/test/upstream is called aws.
	r, err := k.Run(ctx, c.built.Upstream.Tests, report+".xml", "--kubeconfig="+c.kubeconfig(string(column)),
		"--kubectl-path="+c.built.Node.Kubectl, "--provider=aws", fmt.Sprintf("--num-nodes=%d", len(c.nodes)))
	if err := os.WriteFile(report+".log", []byte(r.Output), 0o600); err != nil {
		t.Error(err)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Output)
	}
	j.mu.Lock()
	j.records = append(j.records, k.Record(column, r))
	j.mu.Unlock()
	switch r.Status {
	case "skipped":
		t.Skipf("it skips itself: %s", r.Reason)
	case "passed":
		t.Logf("passed after %.0f s", r.Took.Seconds())
	default:
		t.Errorf("%s after %.0f s\n%s", r.Status, r.Took.Seconds(), r.Output)
	}
}

// outside runs the cloud as a process on the router of the VPC, beside which clients are. Load balancers have
// addresses that nodes and pods reach.
func (c *cluster) outside(t *testing.T) {
	t.Helper()
	if err := script(nil, "ip addr add "+client+"/32 dev lo", "ip addr add "+metadataService+"/32 dev lo",
		"ip route add local "+public+" dev lo src "+client); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"seed.json": c.seed(t), "access-key": c.secret, "hosts": "", "Corefile": `.:53 {
    bind ` + vpcRouter + `
    errors
    hosts ` + filepath.Join(c.dir, "hosts") + ` {
        ttl 1
        reload 100ms
    }
}
`, "resolv.conf": "nameserver " + vpcRouter + "\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// The mounts are those of the sandbox.
	if err := syscall.Mount(filepath.Join(c.dir, "resolv.conf"), "/etc/resolv.conf", "", syscall.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	c.host = vpcRouter
	c.cloud = cloud.New("http://" + vpcRouter + ":9100")
	for _, spec := range []proc.Spec{
		{Name: "resolver", Path: c.built.Node.CoreDNS, Args: []string{"-conf", filepath.Join(c.dir, "Corefile")}},
		{Name: "openapisim", Path: c.built.Simulator, Ready: c.cloud.Healthy, Args: []string{
			"--seed=" + filepath.Join(c.dir, "seed.json"), "--access-key-id=" + accessKeyID,
			"--access-key-secret-file=" + filepath.Join(c.dir, "access-key"), "--log-level=debug",
			"--dataplane", "--dataplane-internet=" + internet, "--dataplane-intranet=" + intranet,
			"--dataplane-servers=" + vpcRange, "--dataplane-servers=" + podRange,
			"--admin=" + vpcRouter + ":9100", "--slb=" + vpcRouter + ":9101", "--vpc=" + vpcRouter + ":9102",
			"--ecs=" + vpcRouter + ":9103", "--sts=" + vpcRouter + ":9104", "--nlb=" + vpcRouter + ":9105",
			"--cas=" + vpcRouter + ":9106", "--metadata=" + metadataService + ":80",
		}},
	} {
		spec.LogFile = filepath.Join(c.dir, spec.Name+".log")
		if err := launch(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
	go c.route(t.Context())
	go c.names(t.Context())
}

// nameStays is how long the resolver knows a name after its load balancer has gone, as one does that has it cached. The
// case that wants UDP ports closed takes a name that is unknown for a fault of its own.
const nameStays = time.Minute

// names lets the resolver know the names of Network Load Balancers.
func (c *cluster) names(ctx context.Context) {
	seen, written := map[string]time.Time{}, ""
	for tick := time.Tick(pollInterval); ctx.Err() == nil; <-tick {
		s, err := c.cloud.State(ctx)
		if err != nil {
			continue // It is asked again.
		}
		now := time.Now()
		for _, line := range hostsOf(s) {
			seen[line] = now
		}
		maps.DeleteFunc(seen, func(_ string, last time.Time) bool { return now.Sub(last) > nameStays })
		hosts := strings.Join(slices.Sorted(maps.Keys(seen)), "")
		if hosts != written && os.WriteFile(filepath.Join(c.dir, "hosts"), []byte(hosts), 0o600) == nil {
			written = hosts
		}
	}
}

// hostsOf has a line for each address that clients reach.
func hostsOf(s *state.Cloud) []string {
	var lines []string
	for _, lb := range s.NLBs {
		for _, zone := range lb.Zones {
			if address := zone.PublicIP; address != "" {
				lines = append(lines, address+" "+lb.DNSName+"\n")
			}
		}
	}
	return lines
}

// columns has the API server write into Services of the tests what users would. The users of the tests are named as
// their columns.
func (c *cluster) columns(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.built.Root, "deploy/test/cluster/testdata/columns.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	c.apply(t, string(text))
	for _, column := range cases.Columns() {
		class, servers := "alibabacloud.com/clb", "node"
		if column.NLB() {
			class = "alibabacloud.com/nlb"
		}
		if column.Pods() {
			servers = "eni"
		}
		c.wait(t, "Services are of "+string(column), func(ctx context.Context) error {
			cmd := c.command(ctx, "kubectl create service loadbalancer probe --tcp=80 --dry-run=server "+
				"-o jsonpath='{.spec.loadBalancerClass} {.metadata.annotations}' --kubeconfig="+c.kubeconfig(string(column)))
			out, err := cmd.CombinedOutput()
			if err != nil {
				return fmt.Errorf("%w: %s", err, out)
			}
			backends := `"service.beta.kubernetes.io/backend-type":"` + servers + `"`
			if got := string(out); !strings.Contains(got, class) || !strings.Contains(got, backends) {
				return fmt.Errorf("a Service has %s", got)
			}
			return nil
		})
	}
}
