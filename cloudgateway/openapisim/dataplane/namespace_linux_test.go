package dataplane

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

// alone runs the test that calls it once more, in a network namespace of its own that commands of ip(8) prepare, and reports whether this
// is that run. Without such namespaces or ip(8) the test is skipped.
func alone(t *testing.T, commands ...string) bool {
	t.Helper()
	const variable = "OPENAPISIM_TEST_NAMESPACE"
	if os.Getenv(variable) == t.Name() {
		for _, command := range append([]string{"link set lo up"}, commands...) {
			ip(t, command)
		}
		return true
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("a network namespace is set up by the program ip of iproute2: %v", err)
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	again.Env = append(os.Environ(), variable+"="+t.Name())
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
	out, err := again.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOSPC) {
		t.Skipf("this process may make no network namespace: %v", err)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("in a namespace of its own: %v\n%s", err, out)
	}
	return false
}

func ip(t *testing.T, command string) {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(command)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", command, err, out)
	}
}

// Load balancers listen at addresses of IPv6 that a local route makes the machine's: NLBs of two stacks, and CLBs of IPv6.
func TestIPv6OffLoopback(t *testing.T) {
	if !alone(t, "-6 route add local 2001:db8:47::/64 dev lo") {
		return
	}
	six := netip.MustParseAddr("2001:db8:47::9")
	ranges, err := Ranges{IPv6: []netip.Prefix{netip.MustParsePrefix("2001:db8:47::/64")}}.Complete()
	if err != nil {
		t.Fatal(err)
	}
	b := newBedAt(t, netip.MustParseAddr("127.48.0.9"), ranges, t.Output())
	port := tcpServer(t, "a")
	ofNLB := netip.MustParseAddrPort(nlbAt(t, b, port, func(*state.NLBListener, *state.NLBServerGroup) {}))
	b.group("g", server(port, 50))
	b.change(func(c *state.Cloud) {
		c.NLBs["nlb-1"].Zones[0].Ipv6Address = six.String()
		c.LoadBalancers[lbID].Address = six.Next().String()
	})
	ofCLB := netip.MustParseAddrPort(b.listen(protoTCP))
	for _, address := range []netip.AddrPort{netip.AddrPortFrom(six, ofNLB.Port()), netip.AddrPortFrom(six.Next(), ofCLB.Port())} {
		if got := greeting(t, "::1", address.String()); got != "a 127.0.0.1" {
			t.Errorf("%s: %q", address, got)
		}
	}
	b.change(func(c *state.Cloud) { c.NLBs["nlb-1"].Zones[0].Ipv6Address = "2001:db8:48::9" })
	for _, l := range b.plane.Listeners() {
		if !ranges.carries(l.Address.Addr()) {
			t.Errorf("it listens at %s", l.Address)
		}
	}
}

// elsewhere is a thread in a network namespace of its own, linked to that of the test: another machine. What it returns runs there.
func elsewhere(t *testing.T, commands ...string) func(func()) {
	t.Helper()
	work, id := make(chan func()), make(chan int)
	go func() {
		runtime.LockOSThread() // and never unlocks: the thread ends with the goroutine
		if err := syscall.Unshare(syscall.CLONE_NEWNET); err != nil {
			t.Error(err)
		}
		id <- syscall.Gettid()
		for f := range work {
			f()
		}
	}()
	there := func(f func()) {
		done := make(chan struct{})
		work <- func() { defer close(done); f() }
		<-done
	}
	t.Cleanup(func() { close(work) })
	ip(t, fmt.Sprintf("link add v0 type veth peer name v1 netns %d", <-id))
	ip(t, "addr add 10.9.0.1/24 dev v0")
	ip(t, "link set v0 up")
	there(func() {
		for _, command := range append([]string{"addr add 10.9.0.2/24 dev v1", "link set v1 up"}, commands...) {
			if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(command)...).CombinedOutput(); err != nil {
				t.Errorf("there: ip %s: %v: %s", command, err, out)
			}
		}
	})
	return there
}

// Servers see the address of a client on another machine if the plane is transparent and their answers come back. If it isn't, they see the
// machine's own, and the listener says how often.
func TestClientsOfOtherMachines(t *testing.T) {
	if !alone(t, "route add local 198.18.0.0/16 dev lo", "rule add from 127.0.0.0/8 lookup 100", "route add local default dev lo table 100") {
		return
	}
	there := elsewhere(t, "route add default via 10.9.0.1")
	for _, transparent := range []bool{false, true} {
		ranges, err := Ranges{Internet: netip.MustParsePrefix("198.18.0.0/16"), Transparent: transparent}.Complete()
		if err != nil {
			t.Fatal(err)
		}
		b := newBedAt(t, netip.MustParseAddr("198.18.0.9"), ranges, t.Output())
		b.group("g", server(tcpServer(t, "a"), 50))
		b.group("u", server(udpServer(t, "a"), 50))
		stream, datagrams := b.listen(protoTCP), b.listen(protoUDP, "VServerGroupId", "u")
		want, hidden := "10.9.0.2", int64(0)
		if !transparent {
			want, hidden = "127.0.0.1", 1
		}
		there(func() {
			if got := greeting(t, "10.9.0.2", stream); got != "a "+want {
				t.Errorf("transparent %t: the server greets %q", transparent, got)
			}
			if got := udpClient(t, "10.9.0.2", datagrams, patience)("hello"); got != "a "+want+" hello" {
				t.Errorf("transparent %t: the server of UDP answers %q", transparent, got)
			}
		})
		for _, l := range b.plane.Listeners() {
			if l.ClientsHidden != hidden {
				t.Errorf("transparent %t: %s hides %d clients, want %d", transparent, l.Address, l.ClientsHidden, hidden)
			}
		}
	}
}

// What the kernel forbids is said at the start, with what it takes.
func TestTransparencyNeedsACapability(t *testing.T) {
	t.Parallel()
	runtime.LockOSThread() // and never unlocks: what this thread gives up ends with it
	header := [2]uint32{0x20080522, 0}
	var none [6]uint32
	if _, _, err := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none)), 0); err != 0 {
		t.Fatal(err)
	}
	_, err := New(Config{Ranges: Ranges{Transparent: true}})
	if !errors.Is(err, syscall.EPERM) || !strings.Contains(err.Error(), "CAP_NET_ADMIN") {
		t.Errorf("%v, want what it takes", err)
	}
}
