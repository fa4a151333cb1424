package world

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestParseControllers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		list    []string
		want    []string
		wantErr bool
	}{
		{name: "all", list: []string{"lb", "node", "route"}, want: Controllers()},
		{name: "some", list: []string{"route"}, want: []string{Route}},
		{name: "none", list: []string{"none"}},
		{name: "none among others", list: []string{"lb", "none"}, wantErr: true},
		{name: "unknown", list: []string{"dns"}, wantErr: true},
		{name: "empty", list: []string{""}, wantErr: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseControllers(tt.list)
			if (err != nil) != tt.wantErr {
				t.Fatalf("error %v, want one: %v", err, tt.wantErr)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("controllers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestBlocks: worlds do not get each other's ports, even while nobody listens on these yet.
func TestBlocks(t *testing.T) {
	t.Parallel()
	const worlds = 20
	n := len(endpoints())
	seen := map[string]bool{}
	for range worlds {
		b, err := takeBlock(n)
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range append(b.addresses, b.claim.Addr().String()) {
			if seen[address] {
				t.Errorf("%s is given to two worlds", address)
			}
			seen[address] = true
		}
		t.Cleanup(func() {
			if err := b.release(); err != nil {
				t.Errorf("give the block back: %v", err)
			}
		})
	}
	if len(seen) != worlds*(n+1) {
		t.Errorf("%d addresses for %d worlds, want %d each", len(seen), worlds, n+1)
	}
}

// TestTakenPort: what somebody else listens on is left out, and a block that has too few ports is passed over.
func TestTakenPort(t *testing.T) {
	t.Parallel()
	b, err := takeBlock(2)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = b.release() }()
	taken, err := net.Listen("tcp", b.addresses[0])
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	first := taken.Addr().(*net.TCPAddr).Port
	if got := freePorts(first, first+2, 2); !slices.Equal(got, b.addresses[1:]) {
		t.Errorf("got %v, want %v", got, b.addresses[1:])
	}
	if _, err := takeBlock(blockSize); err == nil {
		t.Error("a block has more ports than it has")
	}
}

// TestMachines: as many as anybody starts, each with an address of its own in its vSwitch.
func TestMachines(t *testing.T) {
	t.Parallel()
	const n = 10_000
	seen := map[string]bool{}
	for i := 1; i <= n; i++ {
		m := plan{prefix: "192.168"}.newMachine(i)
		ip := m.instance.PrivateIPs[0]
		for _, s := range []string{m.name, m.instance.ID, m.primary.ID, m.primary.MacAddress, ip} {
			if seen[s] {
				t.Fatalf("machine %d has %s, as another", i, s)
			}
		}
		for _, s := range []string{m.name, m.instance.ID, m.primary.ID, m.primary.MacAddress, ip} {
			seen[s] = true
		}
		subnet := netip.MustParsePrefix(plan{prefix: "192.168"}.network().VSwitches[m.instance.VSwitchID].CidrBlock)
		if !subnet.Contains(netip.MustParseAddr(ip)) {
			t.Fatalf("machine %d has %s, which is not in %s", i, ip, subnet)
		}
	}
}

func TestInitialised(t *testing.T) {
	t.Parallel()
	node := func(name string, ready corev1.ConditionStatus, taints ...corev1.Taint) *corev1.Node {
		n := &corev1.Node{Spec: corev1.NodeSpec{Taints: taints}}
		n.Name = name
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
		return n
	}
	got := initialised([]*corev1.Node{
		node("b", corev1.ConditionTrue),
		node("new", corev1.ConditionTrue, corev1.Taint{Key: uninitialized, Effect: corev1.TaintEffectNoSchedule}),
		node("dead", corev1.ConditionUnknown),
		node("a", corev1.ConditionTrue, corev1.Taint{Key: "busy", Effect: corev1.TaintEffectPreferNoSchedule}),
	})
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Errorf("nodes for pods (-want +got):\n%s", diff)
	}
}

// TestMachinesOfTwoFamilies: each has an address of both families, in its vSwitch.
func TestMachinesOfTwoFamilies(t *testing.T) {
	t.Parallel()
	p := plan{prefix: "192.168", dualStack: true}
	cloud, seen := p.network(), map[string]bool{}
	for i := 1; i <= 1000; i++ {
		m := p.newMachine(i)
		if len(m.primary.Ipv6Addresses) != 1 || seen[m.primary.Ipv6Addresses[0]] {
			t.Fatalf("machine %d has the addresses %v", i, m.primary.Ipv6Addresses)
		}
		address := netip.MustParseAddr(m.primary.Ipv6Addresses[0])
		seen[address.String()] = true
		vswitch := netip.MustParsePrefix(cloud.VSwitches[m.primary.VSwitchID].Ipv6Cidr)
		network := netip.MustParsePrefix(cloud.Vpcs[VpcID].Ipv6Cidrs[0])
		if !vswitch.Contains(address) || !network.Contains(vswitch.Addr()) || network.Masked() != network {
			t.Fatalf("machine %d has %s, its vSwitch %s, the VPC %s", i, address, vswitch, network)
		}
	}
}
