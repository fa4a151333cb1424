package lb_test

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"alicloud-controllers.dev/cloudgateway/inprocess"
	"alicloud-controllers.dev/cloudgateway/openapisim"
	simapi "alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
	nlbv1 "alicloud-controllers.dev/proto/cloudgateway/nlb/v1"
	slbv1 "alicloud-controllers.dev/proto/cloudgateway/slb/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/services/gateway"
)

// onTheGateway are the stories that go word for word alike on the fake and on the real gateway. Others look into the
// fake, name ids that its cloud gives, or need what the simulated cloud would have to be given: certificates and access
// lists.
var onTheGateway = strings.Fields(`
	access-lists-that-are-not-in-force annotation-is-misspelt annotation-is-removed annotation-with-a-bad-value
	annotations-change-while-lookups-are-pending answer-of-a-creation-is-lost answers-of-all-writes-are-lost
	asked-for-intranet-too-late backend-label-that-no-node-has bill-is-not-paid calls-are-throttled
	certificate-is-renewed certificate-of-a-secret certificate-of-a-wrong-secret certificate-stays-under-a-policy
	class-of-another-controller class-of-classic-load-balancers cloud-is-away cold-create
	condition-while-a-change-is-under-way conditions crash-at-each-call-of-a-creation crash-before-it-is-recorded
	crash-in-a-deletion crash-in-the-middle-of-a-change crash-when-source-ranges-come deletion-passes-the-finalizer
	deletion-passes-the-finalizer-of-an-old-service deletion-passes-the-finalizer-while-the-process-is-down
	few-servers-of-many-nodes fields-of-the-spec health-check-timeout-below-the-interval host-name-in-the-status
	interfaces-can-not-be-looked-up label-fight last-nodes-of-ready-pods listener-is-refused-for-good
	load-balancer-is-looked-for load-balancer-of-another-type local-follows-the-pods
	local-pods-on-a-node-without-an-instance long-texts-have-an-end narrower-source-ranges-come-first nlb
	nlb-annotation-is-misspelt nlb-annotation-is-removed nlb-annotations-change-while-lookups-are-pending
	nlb-answer-of-a-creation-is-lost nlb-answers-of-all-writes-are-lost nlb-bill-is-not-paid nlb-calls-are-throttled
	nlb-certificate-of-a-secret nlb-certificates-of-secrets-that-can-not-be-had nlb-cloud-is-away
	nlb-crash-in-a-deletion nlb-crash-in-the-middle-of-a-change nlb-crash-when-source-ranges-come
	nlb-deletion-passes-the-finalizer nlb-few-servers-of-many-nodes nlb-interfaces-can-not-be-looked-up
	nlb-is-guarded-before-it-is-public nlb-last-nodes-of-ready-pods nlb-listener-keeps-its-servers
	nlb-local-follows-the-pods nlb-no-server-takes-traffic nlb-node-is-about-to-be-deleted nlb-node-is-drained
	nlb-node-ports-change-places nlb-nodes-deleted-together nlb-nodes-excluded-by-their-label
	nlb-one-listener-can-not-be-deleted nlb-pod-terminates-slowly nlb-pods-are-servers
	nlb-policy-and-ports-change-at-once nlb-port-of-both-protocols nlb-ports-come-and-go
	nlb-preserved-when-the-service-goes nlb-replaced-by-its-manifest nlb-restart nlb-restart-finds-what-changed
	nlb-source-ranges-are-switched-off nlb-source-ranges-come-back-while-their-list-is-kept nlb-status-fight
	nlb-trouble-is-over nlb-type-changes nlb-zone-is-shifted no-server-takes-traffic node-events-that-mean-nothing
	node-health-check-of-network-load-balancers node-is-about-to-be-deleted node-is-drained
	node-is-drained-with-its-pods node-ports-change-places nodes-deleted-together nodes-excluded-by-their-label
	nodes-of-pods-that-are-not-ready one-listener-can-not-be-deleted operations-are-counted
	patch-of-the-finalizer-fails pod-terminates-slowly pods-and-their-nodes-in-the-same-instant pods-are-servers
	pods-of-nodes-that-are-not-ready policy-and-ports-change-at-once port-is-refused-by-the-cloud
	port-is-reserved-by-the-cloud port-of-both-protocols ports-come-and-go ports-have-values-of-their-own
	preserved-when-the-service-goes private-address-of-a-public-load-balancer protocol-changes refused-attribute
	replaced-between-two-load-balancers replaced-by-another-type replaced-while-nobody-leads
	replaced-while-nobody-leads-nlb restart restart-finds-what-changed restart-with-another-configuration
	scheduler-by-hash source-ranges-are-switched-off source-ranges-come-back-while-their-list-is-kept
	source-ranges-of-an-nlb status-fight trouble-is-over type-changes
`)

// TestStoriesOnTheGateway plays stories on the real gateway's handlers and on the fake. What happens and which calls are made has to be the
// same, and so has what the cloud holds in the end.
func TestStoriesOnTheGateway(t *testing.T) {
	t.Parallel()
	var took [2]atomic.Int64 // on the fake, on the gateway
	t.Cleanup(func() {
		t.Logf("%d stories took %v on the fake and %v on the gateway", len(onTheGateway), time.Duration(took[0].Load()),
			time.Duration(took[1].Load()))
	})
	for _, name := range onTheGateway {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(filepath.Join("testdata", "stories", name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			play := func(answers func(*story) (balancers func() []string), took *atomic.Int64) (told, holds []string) {
				begun := time.Now()
				defer func() { took.Add(int64(time.Since(begun))) }()
				synctest.Test(t, func(t *testing.T) {
					var balancers func() []string
					s := newStory(t, archive.Files, func(s *story) { balancers = answers(s) })
					told = steps(s.play(string(archive.Comment)))
					holds = holdings(t, s.cloud.Client(), balancers())
				})
				return told, holds
			}
			told, holds := play(theFake, &took[0])
			toldToo, holdsToo := play(theGateway, &took[1])
			if diff := gocmp.Diff(told, toldToo); diff != "" {
				t.Errorf("it goes otherwise (-fake +gateway):\n%s", diff)
			}
			if diff := gocmp.Diff(holds, holdsToo); diff != "" {
				t.Errorf("the cloud holds something else (-fake +gateway):\n%s", diff)
			}
		})
	}
}

// theFake lets the fake answer, and says which CLBs there are.
func theFake(s *story) (balancers func() []string) {
	return func() []string {
		s.cloud.Lock()
		defer s.cloud.Unlock()
		return slices.Collect(maps.Keys(s.cloud.LoadBalancers))
	}
}

// theGateway lets the real gateway answer, and says which CLBs there are.
func theGateway(s *story) (balancers func() []string) {
	sim := behind(s.world, func(*state.Cloud) {})
	return func() (ids []string) {
		sim.View(func(c *state.Cloud) { ids = slices.Collect(maps.Keys(c.LoadBalancers)) })
		return ids
	}
}

// behind lets the real gateway answer in a world, on a cloud that has a VPC with instances, network interfaces of pods,
// and whatever is added.
func behind(w *world, add func(*state.Cloud)) *openapisim.Simulator {
	seed := state.New("cn-hangzhou", "")
	seed.Vpcs["vpc-test"] = &state.Vpc{CidrBlock: "192.168.0.0/16"}
	seed.VSwitches["vsw-a"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/18"}
	seed.VSwitches["vsw-b"] = &state.VSwitch{VpcID: "vpc-test", ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.64.0/18"}
	for n := range 100 {
		seed.Instances[fmt.Sprintf("i-%d", n+1)] = &state.Instance{VpcID: "vpc-test", VSwitchID: "vsw-a", ZoneID: "cn-hangzhou-h",
			Status: "Running", PrivateIPs: []string{fmt.Sprintf("192.168.1.%d", n+1)}}
	}
	for _, network := range []string{"10.0.0.", "10.0.1.", "10.0.2."} {
		for n := range 9 {
			address := fmt.Sprint(network, n+1)
			seed.Interfaces["eni-"+address] = &state.NetworkInterface{Type: "Secondary", Status: "InUse", InstanceID: "i-1",
				VpcID: "vpc-test", VSwitchID: "vsw-a", ZoneID: "cn-hangzhou-h", PrimaryIP: address, PrivateIPs: []string{address}}
		}
	}
	add(seed)
	settings := simapi.FastSettings()
	sim, err := openapisim.New(openapisim.Config{LimitsOff: true, Settings: &settings, Seed: seed})
	if err != nil {
		w.t.Fatal(err)
	}
	w.cloud.Behind = inprocess.Dial(w.t, sim, "vpc-test")
	return sim
}

// The ids and addresses that each cloud gives, and the texts of its errors.
var (
	givenTexts     = regexp.MustCompile(`-> .* \(([A-Z_]+)(, [^()]*)?\)`)
	givenCerts     = regexp.MustCompile(`\bcert-[0-9]+\b|\b1000000000000001_[0-9a-z]+|\b1000[0-9]{4}(-cn-hangzhou)?\b`)
	givenIDs       = regexp.MustCompile(`\b(nlb|lb|rsp|sgp|lsn|sg|acl|eip)-[0-9a-z]+(-[0-9]+)?(@[0-9]+)?`)
	givenAddresses = regexp.MustCompile(`\b(47|8|121)\.[0-9]+\.[0-9]+\.[0-9]+|\b192\.168\.[0-9]+\.[0-9]+`)
)

// steps are the lines of the story, without ids and addresses. Of an error of a call it is the reason alone: the
// texts are the cloud's. Those of a step are sorted: what happens to several
// Services at once comes in any order. What `show cloud` tells isn't among them.
func steps(text string) (lines []string) {
	text = strings.ReplaceAll(text, "\n        ", " ")
	text = givenCerts.ReplaceAllString(givenTexts.ReplaceAllString(text, "-> $1"), "CERTIFICATE")
	text = givenAddresses.ReplaceAllString(givenIDs.ReplaceAllString(text, "$1-N"), "ADDRESS")
	for step := range strings.SplitSeq(text, "\n> ") {
		happened := strings.Split(step, "\n")
		if happened[0] == "show cloud" {
			continue
		}
		slices.Sort(happened[1:])
		lines = append(lines, happened...)
	}
	return lines
}

// holder tells what a cloud holds, by the reads of the gateway. Things are called by their names.
type holder struct {
	t     *testing.T
	names map[string]string // by id
	lines []string
}

func (h *holder) add(format string, args ...any) {
	h.lines = append(h.lines, fmt.Sprintf(format, args...))
}

// named are the names of things, for their ids.
func (h *holder) named(ids []string) string {
	return sorted(ids, func(id string) string { return h.names[id] })
}

// read is the answer to a read, which has to go well.
func read[Q, A proto.Message](h *holder, call func(context.Context, Q, ...grpc.CallOption) (A, error), request Q) A {
	h.t.Helper()
	answer, err := call(h.t.Context(), request)
	if err != nil {
		h.t.Error(err)
	}
	return answer
}

func sorted[T any](items []T, text func(T) string) string {
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = text(item)
	}
	slices.Sort(texts)
	return "[" + strings.Join(texts, ", ") + "]"
}

func tagsText(tags []*commonv1.Tag) string {
	return sorted(tags, func(t *commonv1.Tag) string { return t.GetKey() + "=" + t.GetValue() })
}

func serversOf[S interface {
	GetServerId() string
	GetPort() int32
	GetWeight() int32
}](servers []S) string {
	return sorted(servers, func(s S) string { return fmt.Sprintf("%s:%d=%d", s.GetServerId(), s.GetPort(), s.GetWeight()) })
}

// holdings are what load balancers, listeners, server groups, access lists, security groups and EIPs are for: whose they
// are, who may connect, and who serves.
func holdings(t *testing.T, c *gateway.Client, balancers []string) []string {
	t.Helper()
	h := &holder{t: t, names: map[string]string{}}
	for _, l := range read(h, c.AccessControlLists.ListAccessControlLists, &slbv1.ListAccessControlListsRequest{}).GetAccessControlLists() {
		h.names[l.GetAclId()] = l.GetName()
		whole := read(h, c.AccessControlLists.GetAccessControlList, &slbv1.GetAccessControlListRequest{AclId: l.GetAclId()})
		h.add("access list %s %s: %s", l.GetName(), tagsText(l.GetTags()), sorted(whole.GetAccessControlList().GetEntries(),
			(*slbv1.AccessControlEntry).GetCidr))
	}
	for _, g := range read(h, c.SecurityGroups.ListSecurityGroups, &ecsv1.ListSecurityGroupsRequest{}).GetSecurityGroups() {
		h.names[g.GetSecurityGroupId()] = g.GetName()
		whole := read(h, c.SecurityGroups.GetSecurityGroup, &ecsv1.GetSecurityGroupRequest{SecurityGroupId: g.GetSecurityGroupId()})
		h.add("security group %s %s: %s", g.GetName(), tagsText(g.GetTags()), sorted(whole.GetSecurityGroup().GetRules(),
			func(r *ecsv1.SecurityGroupRule) string {
				return fmt.Sprintf("%s %s %s %s %d %q", r.GetDirection(), r.GetPolicy(), r.GetIpProtocol(), r.GetCidr(), r.GetPriority(),
					r.GetDescription())
			}))
	}
	for _, id := range balancers {
		get := &slbv1.GetLoadBalancerRequest{LoadBalancerId: id, View: slbv1.View_VIEW_FULL}
		lb := read(h, c.LoadBalancers.GetLoadBalancer, get).GetLoadBalancer()
		h.names[id] = lb.GetName()
		h.add("CLB %s %s %s protected %t", lb.GetName(), tagsText(lb.GetTags()), lb.GetAddressType(), lb.GetDeleteProtection())
		for _, g := range lb.GetServerGroups() {
			h.names[g.GetServerGroupId()] = g.GetName()
			h.add("CLB %s group %s: %s", lb.GetName(), g.GetName(), serversOf(g.GetServers()))
		}
		for _, l := range lb.GetListeners() {
			config, access := l.GetConfig(), "open"
			if config.GetAclEnabled() {
				access = config.GetAclType() + " " + h.named(config.GetAclIds())
			}
			h.add("CLB %s listener %d %s %s %q to %s, %s", lb.GetName(), l.GetKey().GetPort(), l.GetKey().GetProtocol(), l.GetStatus(),
				config.GetDescription(), h.names[config.GetServerGroupId()], access)
		}
	}
	for _, g := range read(h, c.NetworkServerGroups.ListServerGroups, &nlbv1.ListServerGroupsRequest{}).GetServerGroups() {
		h.names[g.GetServerGroupId()] = g.GetName()
		get := &nlbv1.GetServerGroupRequest{ServerGroupId: g.GetServerGroupId()}
		whole := read(h, c.NetworkServerGroups.GetServerGroup, get).GetServerGroup()
		h.add("NLB group %s %s %s %s: %s", g.GetName(), tagsText(g.GetTags()), whole.GetType(), whole.GetScheduler(),
			serversOf(whole.GetServers()))
	}
	for _, found := range read(h, c.NetworkLoadBalancers.ListLoadBalancers, &nlbv1.ListLoadBalancersRequest{}).GetLoadBalancers() {
		id := found.GetLoadBalancerId()
		lb := read(h, c.NetworkLoadBalancers.GetLoadBalancer, &nlbv1.GetLoadBalancerRequest{LoadBalancerId: id}).GetLoadBalancer()
		h.names[id] = lb.GetName()
		h.add("NLB %s %s %s %s guarded by %s protected %t", lb.GetName(), tagsText(lb.GetTags()), lb.GetAddressType(), lb.GetStatus(),
			h.named(lb.GetSecurityGroupIds()), lb.GetDeletionProtection().GetEnabled())
		list := &nlbv1.ListListenersRequest{LoadBalancerIds: []string{id}}
		for _, l := range read(h, c.NetworkListeners.ListListeners, list).GetListeners() {
			h.add("NLB %s listener %d-%d %s %s %q to %s", lb.GetName(), l.GetPort()+l.GetStartPort(), l.GetEndPort(), l.GetProtocol(), l.GetStatus(),
				l.GetConfig().GetDescription(), h.names[l.GetConfig().GetServerGroupId()])
		}
	}
	for _, e := range read(h, c.Eips.ListEips, &vpcv1.ListEipsRequest{}).GetEips() {
		h.add("EIP %s %s of %s", e.GetName(), tagsText(e.GetTags()), h.names[e.GetInstanceId()])
	}
	slices.Sort(h.lines)
	return h.lines
}

// TestProcessLinksNoGateway: what tests take from the gateway is not in the process, nor is the cloud's SDK.
func TestProcessLinksNoGateway(t *testing.T) {
	t.Parallel()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "alicloud-controllers.dev/lbcontroller/cmd/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	linked := strings.Fields(string(out))
	if !slices.Contains(linked, "alicloud-controllers.dev/lbcontroller/internal/lb") {
		t.Fatal("the engine is not among what is linked, so nothing was found out")
	}
	for _, pkg := range linked {
		if strings.HasPrefix(pkg, "alicloud-controllers.dev/cloudgateway/") || strings.HasPrefix(pkg, "github.com/aliyun/") {
			t.Errorf("%s is linked", pkg)
		}
	}
}
