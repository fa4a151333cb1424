package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"

	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/pipes"
)

// TestToolsTogether replays what the tools of docs/openapi-front.md call, in their order, beside the calls of the controllers in a join of
// many nodes, at the published limits and in virtual time: TOGETHER=10m for ten minutes of it, 90 seconds without it. The cloud, which is
// openapisim with its own table of limits, refuses no call for its rate; each tool makes as many calls as alone, but for a tenth; and no
// call of a controller with the priority of a user or of backends waits longer than ADR 13 says.
//
// The orders are those of the tools' sources: Terway pkg/aliyun/client and pkg/factory/aliyun (89aadf8b), Alibaba's Karpenter provider
// pkg/providers (e6ed7cd), the disks of alibaba-cloud-csi-driver, cluster-autoscaler's cloudprovider/alicloud and
// terraform-provider-alicloud (81c43b672).
func TestToolsTogether(t *testing.T) {
	length := 90 * time.Second
	if text := os.Getenv("TOGETHER"); text != "" {
		var err error
		if length, err = time.ParseDuration(text); err != nil {
			t.Fatalf("TOGETHER: %v", err)
		}
	}
	for _, tt := range []struct {
		name    string
		callers map[string]config.CallerBudget
		bound   time.Duration // of ADR 13
	}{
		{"all in the background", nil, time.Second},
		{"as the page says", map[string]config.CallerBudget{
			"terway": {MaxPriority: "user"}, "karpenter": {MaxPriority: "user"}, "autoscaler": {MaxPriority: "user"},
		}, time.Second},
		{"with all of the budget", map[string]config.CallerBudget{
			"terway": {MaxPriority: "user", Share: 1}, "karpenter": {MaxPriority: "user", Share: 1}, "autoscaler": {MaxPriority: "user", Share: 1},
		}, time.Minute}, // until the next window
	} {
		t.Run(tt.name, func(t *testing.T) {
			alone := map[string]int{}
			for name, s := range scripts() {
				r := rehearse(t, length, map[string]script{name: s}, tt.callers, false)
				alone[name] = r.calls[name]
			}
			r := rehearse(t, length, scripts(), tt.callers, true)
			for _, name := range slices.Sorted(maps.Keys(alone)) {
				t.Logf("%s: %d calls alone, %d beside all others (%d put off with Throttling)", name, alone[name], r.calls[name], r.putOff[name])
				if r.calls[name] == 0 || float64(r.calls[name]) < 0.9*float64(alone[name]) {
					t.Errorf("%s made %d calls, and %d alone", name, r.calls[name], alone[name])
				}
			}
			t.Logf("the controllers made %d calls with the priority of a user or of backends; the longest wait was %s (%s)",
				r.waited, r.longest, r.slowest)
			if r.waited < 100 || r.longest > tt.bound {
				t.Errorf("%d calls of controllers, of which one waited for %s (%s), longer than %s", r.waited, r.longest, r.slowest, tt.bound)
			}
		})
	}
}

// script is what one of the workers of a tool does, again and again.
type script struct {
	workers int
	wait    time.Duration // for an answer
	pause   time.Duration // after each time
	run     func(p *player, worker, round int)
}

// player makes the calls of one worker.
type player struct {
	ctx  context.Context
	r    *rehearsal
	name string
	script

	priority flow.Priority
	rand     *rand.Rand
}

// rehearsal is what has come of it.
type rehearsal struct {
	client *openapi.Client

	mu            sync.Mutex
	calls, putOff map[string]int
	failures      []string
	waited        int
	longest       time.Duration
	slowest       string
}

// call makes a call until it is answered otherwise than with Throttling, as all tools do: after the time that the answer names, or one
// of their own.
func (p *player) call(name string, params map[string]string) map[string]any {
	return p.send(name, openapi.Call{Params: params})
}

func (p *player) send(name string, call openapi.Call) map[string]any {
	product, action, _ := strings.Cut(name, ":")
	call.Product, call.Action, call.Mutating = openapi.Product(product), action, !flow.Reads(action)
	for p.ctx.Err() == nil {
		ctx, cancel := context.WithTimeout(flow.WithCaller(p.ctx, flow.Caller{Name: p.name, Priority: p.priority}), p.wait)
		answer, _, err := p.r.client.Pass(ctx, call, func(int) error { return nil })
		cancel()
		if e, ok := rpcerr.From(err); ok && e.Reason == rpcerr.Throttled {
			p.r.note(func() { p.r.putOff[p.name]++ })
			p.rest(min(max(e.RetryAfter, time.Second), 30*time.Second))
			continue
		}
		if p.ctx.Err() != nil {
			return nil
		}
		var got map[string]any
		if err == nil {
			_ = json.Unmarshal(answer.Body, &got) // A script of CS is none.
		}
		if got["Code"] == taskConflict { // All of them know that a VPC takes one change at a time.
			p.rest(3 * time.Second)
			continue
		}
		p.r.note(func() {
			p.r.calls[p.name]++
			if err != nil || answer.Status >= http.StatusBadRequest {
				p.r.failures = append(p.r.failures, fmt.Sprint(p.name, " ", name, " ", got["Code"], " ", got["Message"], " ", err))
			}
		})
		return got
	}
	return nil
}

func (r *rehearsal) note(of func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	of()
}

// rest waits in virtual time, a little more or less.
func (p *player) rest(d time.Duration) {
	select {
	case <-p.ctx.Done():
	case <-time.After(time.Duration(float64(d) * (0.9 + 0.2*p.rand.Float64()))):
	}
}

// until repeats a read until it shows a status, as tools poll: after one second, then two, four and eight.
func (p *player) until(name string, params map[string]string, word string) {
	for wait := time.Second; p.ctx.Err() == nil; wait = min(2*wait, 8*time.Second) {
		text, _ := json.Marshal(p.call(name, params))
		if strings.Contains(string(text), `"Status":"`+word+`"`) {
			return
		}
		p.rest(wait)
	}
}

// taskConflict is what a VPC answers that is busy with a change.
const taskConflict = "TaskConflict"

func id(answer map[string]any, name string) string {
	text, _ := answer[name].(string)
	return text
}

// scripts are the tools.
func scripts() map[string]script {
	in := func(more map[string]string) map[string]string {
		all := map[string]string{"RegionId": "cn-hangzhou"}
		maps.Copy(all, more)
		return all
	}
	return map[string]script{
		// On 100 nodes at once: a network interface for the node, addresses for its pods, and all of it back.
		"terway": {workers: 100, wait: 8 * time.Second, run: func(p *player, worker, _ int) {
			eni := id(p.call("ecs:CreateNetworkInterface", in(map[string]string{"VSwitchId": "vsw-1", "SecurityGroupId": "sg-1",
				"SecondaryPrivateIpAddressCount": "4"})), "NetworkInterfaceId")
			node, of := fmt.Sprintf("i-%04d", worker), in(map[string]string{"NetworkInterfaceId": eni})
			shown := in(map[string]string{"NetworkInterfaceId.1": eni})
			p.until("ecs:DescribeNetworkInterfaces", shown, "Available")
			p.call("ecs:AttachNetworkInterface", in(map[string]string{"NetworkInterfaceId": eni, "InstanceId": node}))
			p.until("ecs:DescribeNetworkInterfaces", shown, "InUse")
			for range 2 {
				p.call("ecs:AssignPrivateIpAddresses", in(map[string]string{"NetworkInterfaceId": eni, "SecondaryPrivateIpAddressCount": "2"}))
				p.rest(2 * time.Second)
			}
			p.rest(20 * time.Second)
			p.call("ecs:DetachNetworkInterface", in(map[string]string{"NetworkInterfaceId": eni, "InstanceId": node}))
			p.until("ecs:DescribeNetworkInterfaces", shown, "Available")
			p.call("ecs:DeleteNetworkInterface", of)
		}},
		// A disk for a volume: made, attached, made larger, detached and deleted.
		"csi": {workers: 10, wait: 8 * time.Second, pause: 5 * time.Second, run: func(p *player, worker, round int) {
			disk := id(p.call("ecs:CreateDisk", in(map[string]string{"ZoneId": "cn-hangzhou-h", "Size": "20", "DiskCategory": "cloud_essd",
				"ClientToken": fmt.Sprint("csi-", worker, "-", round)})), "DiskId")
			node, shown := fmt.Sprintf("i-%04d", 100+worker), in(map[string]string{"DiskIds": `["` + disk + `"]`})
			p.until("ecs:DescribeDisks", shown, "Available")
			p.call("ecs:AttachDisk", map[string]string{"DiskId": disk, "InstanceId": node})
			p.until("ecs:DescribeDisks", shown, "In_use")
			p.call("ecs:ResizeDisk", map[string]string{"DiskId": disk, "NewSize": "40", "Type": "online"})
			p.call("ecs:DetachDisk", map[string]string{"DiskId": disk, "InstanceId": node})
			p.until("ecs:DescribeDisks", shown, "Available")
			p.call("ecs:DeleteDisk", map[string]string{"DiskId": disk})
		}},
		// An instance for pods that wait, with what it reads of RAM and CS, and its end.
		"karpenter": {workers: 5, wait: 8 * time.Second, pause: 10 * time.Second, run: func(p *player, worker, round int) {
			p.call("ram:GetRole", map[string]string{"RoleName": "node"})
			p.send("cs:DescribeClusterAttachScripts", openapi.Call{Method: http.MethodPost, Path: "/clusters/c-1/attachscript",
				Body: []byte(`{"keep_instance_name":true}`), ContentType: "application/json"})
			p.call("ecs:DescribeInstanceTypes", nil)
			p.call("ecs:DescribeSecurityGroups", in(nil))
			p.call("vpc:DescribeVSwitches", in(map[string]string{"VpcId": "vpc-1"}))
			sets, _ := p.call("ecs:RunInstances", in(map[string]string{
				"ImageId": "aliyun_3_x64_20G_alibase_20260101.vhd", "InstanceType": "ecs.g7.xlarge", "VSwitchId": "vsw-1", "SecurityGroupId": "sg-1",
				"Amount": "1", "ClientToken": fmt.Sprint("karpenter-", worker, "-", round), "SystemDisk.Category": "cloud_essd",
			}))["InstanceIdSets"].(map[string]any)
			ids, _ := sets["InstanceIdSet"].([]any)
			if len(ids) != 1 {
				return
			}
			p.until("ecs:DescribeInstances", in(map[string]string{"InstanceIds": fmt.Sprintf(`["%s"]`, ids[0])}), "Running")
			p.call("ecs:DeleteInstances", in(map[string]string{"InstanceId.1": fmt.Sprint(ids[0]), "Force": "true"}))
		}},
		// 60 resources, of which ten are planned and applied at once: read, made, read, deleted.
		"terraform": {workers: 10, wait: 50 * time.Second, pause: 20 * time.Second,
			run: func(p *player, worker, round int) {
				vpc := fmt.Sprint("vpc-tf-", worker)
				for n := range 2 {
					name := fmt.Sprint("tf-", worker, "-", round, "-", n)
					group := id(p.call("ecs:CreateSecurityGroup", in(map[string]string{"VpcId": vpc, "SecurityGroupName": name})), "SecurityGroupId")
					for range 2 { // applied, and planned again
						p.call("ecs:DescribeSecurityGroupAttribute", in(map[string]string{"SecurityGroupId": group}))
					}
					vswitch := id(p.call("vpc:CreateVSwitch", in(map[string]string{"VpcId": vpc, "ZoneId": "cn-hangzhou-h", "VSwitchName": name,
						"CidrBlock": fmt.Sprintf("172.16.%d.%d/28", 200+worker, 16*(2*(round%8)+n))})), "VSwitchId")
					for range 2 {
						p.until("vpc:DescribeVSwitchAttributes", in(map[string]string{"VSwitchId": vswitch}), "Available")
					}
					lb := id(p.call("slb:CreateLoadBalancer", in(map[string]string{"LoadBalancerName": name, "AddressType": "internet",
						"InternetChargeType": "paybytraffic", "ClientToken": name})), "LoadBalancerId")
					for range 2 {
						p.call("slb:DescribeLoadBalancerAttribute", in(map[string]string{"LoadBalancerId": lb}))
					}
					p.call("slb:DeleteLoadBalancer", in(map[string]string{"LoadBalancerId": lb}))
					p.call("vpc:DeleteVSwitch", in(map[string]string{"VSwitchId": vswitch}))
					p.call("ecs:DeleteSecurityGroup", in(map[string]string{"SecurityGroupId": group}))
				}
			}},
		// Every ten seconds, the groups and their instances.
		"autoscaler": {workers: 1, wait: 8 * time.Second, pause: 10 * time.Second, run: func(p *player, _, round int) {
			p.call("ess:DescribeScalingGroups", in(nil))
			for range 3 {
				p.call("ess:DescribeScalingInstances", in(nil))
			}
			p.call("ecs:DescribeInstanceTypes", nil)
			if round%3 == 0 {
				p.call("ess:ModifyScalingGroup", in(map[string]string{"ScalingGroupId": "asg-1", "DesiredCapacity": "3"}))
			}
		}},
	}
}

// rehearse plays scripts for a time, with the controllers beside them or without.
func rehearse(t *testing.T, length time.Duration, all map[string]script, callers map[string]config.CallerBudget,
	controllers bool,
) *rehearsal {
	t.Helper()
	r := &rehearsal{calls: map[string]int{}, putOff: map[string]int{}}
	synctest.Test(t, func(t *testing.T) {
		settings := api.DefaultSettings()
		settings.Quotas.RouteEntries, settings.Quotas.SecurityGroups, settings.Quotas.LoadBalancers = 1000, 1000, 1000
		sim, err := openapisim.New(openapisim.Config{Settings: &settings, Seed: crowd()})
		if err != nil {
			t.Fatal(err)
		}
		network := map[string]*pipes.Listener{"ess.test:80": pipes.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"RequestId":"R"}`) // The simulator has no Auto Scaling.
		}))}
		endpoints := map[openapi.Product]string{openapi.ESS: "ess.test"}
		for _, p := range []openapi.Product{openapi.SLB, openapi.VPC, openapi.ECS, openapi.RAM, openapi.CS} {
			endpoints[p] = string(p) + ".test"
			network[string(p)+".test:80"] = pipes.Serve(t, sim.Handler(string(p)))
		}
		cfg := config.Default()
		cfg.Budget.Callers, cfg.Budget.Controllers = callers, append(controllersOf(cfg), controller)
		priorities := newPriorities(cfg)
		budget, err := flow.New(cfg.Budget, nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		r.client = openapi.New(openapi.Config{
			Region: "cn-hangzhou", Scheme: "HTTP", Budget: budget, Endpoints: endpoints,
			Credentials: credentials.Fixed{Credentials: credentials.Credentials{
				AccessKeyID: openapisim.DefaultAccessKeyID, AccessKeySecret: openapisim.DefaultAccessKeySecret}},
			Dial: func(ctx context.Context, net, address string) (net.Conn, error) {
				return network[address].Dial(ctx, net, address)
			},
		})
		ctx, cancel := context.WithTimeout(t.Context(), length)
		defer cancel()
		var playing sync.WaitGroup
		for name, s := range all {
			for worker := range s.workers {
				p := &player{ctx: ctx, r: r, name: name, script: s, priority: priorities.of(name, flow.Change, nil),
					rand: rand.New(rand.NewPCG(1, uint64(worker)))}
				playing.Go(func() {
					for round := 0; ctx.Err() == nil; round++ {
						s.run(p, worker, round)
						p.rest(max(s.pause, time.Second))
					}
				})
			}
		}
		if controllers {
			playing.Go(func() { r.control(ctx, length) })
		}
		playing.Wait()
		r.client.Close()
		for _, call := range sim.Calls(0) {
			if strings.HasPrefix(call.Code, "Throttling") {
				t.Errorf("the cloud refused %s %s for its rate at %s", call.Product, call.Action, call.Time)
			}
		}
	})
	if len(r.failures) > 0 {
		t.Errorf("%d calls failed, first %s", len(r.failures), strings.Join(r.failures[:min(3, len(r.failures))], "; "))
	}
	return r
}

// crowd is a cloud with 200 instances and a cluster.
func crowd() *state.Cloud {
	c := state.New("cn-hangzhou", "")
	c.Vpcs["vpc-1"] = &state.Vpc{CidrBlock: "192.168.0.0/16"}
	for worker := range 10 { // A VPC takes one change at a time, with a front or without.
		c.Vpcs[fmt.Sprint("vpc-tf-", worker)] = &state.Vpc{CidrBlock: "172.16.0.0/16"}
	}
	c.VSwitches["vsw-1"] = &state.VSwitch{VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/18"}
	c.RouteTables["vtb-1"] = &state.RouteTable{VpcID: "vpc-1", Type: "System"}
	c.SecurityGroups["sg-1"] = &state.SecurityGroup{VpcID: "vpc-1"}
	c.Clusters["c-1"] = &state.Cluster{APIServer: "10.0.0.100:6443"}
	for i := range 200 {
		c.Instances[fmt.Sprintf("i-%04d", i)] = &state.Instance{
			VpcID: "vpc-1", VSwitchID: "vsw-1", ZoneID: "cn-hangzhou-h", Status: "Running",
			PrivateIPs: []string{fmt.Sprintf("192.168.%d.%d", 1+i/100, 1+i%100)},
		}
	}
	return c
}

const controller = "system:serviceaccount:kube-system:controller"

// control makes the calls of the controllers: 100 nodes join in the first minute, a Service comes every four seconds, and servers change
// all the time.
func (r *rehearsal) control(ctx context.Context, length time.Duration) {
	do := func(priority flow.Priority, name string, params map[string]string) map[string]any {
		product, action, _ := strings.Cut(name, ":")
		call := openapi.Call{Product: openapi.Product(product), Action: action, Params: params, Mutating: !flow.Reads(action)}
		for begun := time.Now(); ctx.Err() == nil; {
			limited, cancel := context.WithTimeout(flow.WithCaller(ctx, flow.Caller{Name: controller, Priority: priority}), 30*time.Second)
			out := map[string]any{}
			result, err := r.client.Do(limited, call, &out)
			cancel()
			e, _ := rpcerr.From(err)
			switch {
			case err == nil:
				r.note(func() {
					r.waited++
					if waited := result.Sent.Sub(begun); waited > r.longest {
						r.longest, r.slowest = waited, name
					}
				})
				return out
			case ctx.Err() != nil: // The rehearsal is over.
			case e != nil && e.CloudCode == taskConflict:
				<-time.After(time.Second)
				begun = time.Now()
			case e != nil && e.Reason == rpcerr.Throttled: // It tries again, and has waited all the time.
				<-time.After(max(e.RetryAfter, time.Second))
			default:
				r.note(func() { r.failures = append(r.failures, fmt.Sprint("controllers ", name, " ", err)) })
				return nil
			}
		}
		return nil
	}
	every := func(d time.Duration, n int, what func(i int)) func() {
		return func() {
			for i := range n {
				what(i)
				select {
				case <-ctx.Done():
					return
				case <-time.After(d):
				}
			}
		}
	}
	var all sync.WaitGroup
	all.Go(every(3*time.Second, 20, func(i int) { // five nodes each
		do(flow.Change, "ecs:DescribeInstances", map[string]string{"MaxResults": "100"})
		do(flow.Change, "ecs:DescribeNetworkInterfaces", map[string]string{"MaxResults": "100"})
		for n := range 5 {
			do(flow.Change, "vpc:CreateRouteEntry", map[string]string{"RouteTableId": "vtb-1", "NextHopId": fmt.Sprintf("i-%04d", 5*i+n),
				"NextHopType": "Instance", "DestinationCidrBlock": fmt.Sprintf("10.0.%d.0/24", 5*i+n)})
		}
	}))
	all.Go(every(4*time.Second, int(length/(4*time.Second)), func(i int) {
		lb := id(do(flow.Change, "slb:CreateLoadBalancer", map[string]string{"LoadBalancerName": fmt.Sprint("svc-", i), "AddressType": "internet",
			"ClientToken": fmt.Sprint("svc-", i)}), "LoadBalancerId")
		if lb == "" {
			return
		}
		group := id(do(flow.Change, "slb:CreateVServerGroup", map[string]string{"LoadBalancerId": lb, "VServerGroupName": "k8s"}),
			"VServerGroupId")
		do(flow.Change, "slb:CreateLoadBalancerTCPListener", map[string]string{"LoadBalancerId": lb, "ListenerPort": "80", "Bandwidth": "-1",
			"VServerGroupId": group})
		for n := range 3 {
			do(flow.Backend, "slb:AddVServerGroupBackendServers", map[string]string{"VServerGroupId": group, "BackendServers": fmt.Sprintf(
				`[{"ServerId":"i-%04d","Port":"80","Weight":"100","Type":"ecs"}]`, (3*i+n)%200)})
		}
	}))
	all.Wait()
}
