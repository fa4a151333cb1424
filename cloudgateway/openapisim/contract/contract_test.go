package contract

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"alicloud-controllers.dev/cloudgateway/openapisim"
	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/openapisimtest"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scenarios are safe in an account with other things in it: they change nothing that they haven't made.
func scenarios() map[string]func(c *cloud) {
	return map[string]func(c *cloud){
		"regions":           regions,
		"resource groups":   resourceGroups,
		"rate limits":       rateLimits,
		"load balancer":     loadBalancer,
		"load balancers":    loadBalancers,
		"protections":       protections,
		"specification":     specification,
		"TCP listener":      tcpListener,
		"UDP listener":      udpListener,
		"HTTP listener":     httpListener,
		"HTTPS listener":    httpsListener,
		"schedulers":        schedulers,
		"enumerations":      enumerations,
		"NLB addresses":     nlbAddresses,
		"access control":    accessControl,
		"group":             group,
		"group in use":      groupInUse,
		"master and slave":  masterAndSlave,
		"default group":     defaultGroup,
		"tags":              slbTags,
		"legacy tags":       legacyTags,
		"certificates":      certificates,
		"rules":             rules,
		"networks":          networks,
		"life of a network": lifeOfNetwork,
		"further blocks":    furtherBlocks,
		"NAT gateway":       natGateway,
		"IPv4 gateway":      ipv4Gateway,
		"IPv6 gateway":      ipv6Gateway,
		"HaVip":             haVip,
		"prefix list":       prefixList,
		"DHCP options":      dhcpOptions,
		"reserved block":    reservedBlock,
		"address pool":      addressPool,
		"route":             route,
		"routes":            routes,
		"elastic address":   elasticAddress,
		"network tags":      networkTags,
		"shared bandwidth":  sharedBandwidth,
		"instances":         instances,
		"interfaces":        interfaces,
		"catalog":           catalog,
		"security group":    securityGroup,
		"rule prefix list":  rulePrefixList,
		"NLB":               networkLoadBalancer,
		"NLB security":      nlbSecurity,
		"caller":            caller,
		"endpoints":         endpoints,
		"unknown things":    unknownThings,
		"malformed request": malformed,
		"signature":         signature,
		"replay":            replay,

		"asked NLB zones":    askedNLBZones,
		"asked NLB ports":    askedNLBPorts,
		"asked public IPv6":  askedPublicIPv6,
		"asked listeners":    askedListeners,
		"asked routes":       askedRoutes,
		"asked groups":       askedGroups,
		"asked policies":     askedPolicies,
		"asked balancers":    askedBalancers,
		"asked certificates": askedCertificates,
		"asked gateways":     askedGateways,
		"asked NAT":          askedNAT,
		"asked packages":     askedPackages,
		"asked blocks":       askedBlocks,
		"asked defaults":     askedDefaults,
		"asked HaVips":       askedHaVips,
		"asked prefix lists": askedPrefixLists,
		"asked reservations": askedReservations,
		"asked pools":        askedPools,
		"asked templates":    askedTemplates,
		"asked instances":    askedInstances,
		"asked clusters":     askedClusters,
	}
}

// simulatedScenarios stop and delete instances, or need what an account may not have: resource groups, roles, an old load balancer.
func simulatedScenarios() map[string]func(c *cloud) {
	return map[string]func(c *cloud){
		"resource group":      resourceGroup,
		"instance tags":       instanceTags,
		"source check":        sourceCheck,
		"default network":     defaultNetwork,
		"sized NAT gateway":   gatewayOfSpecification,
		"monitored address":   monitoredAddress,
		"segment":             addressSegment,
		"member of a group":   memberOfGroup,
		"role":                role,
		"cluster":             cluster,
		"role of a pod":       podRole,
		"life of an instance": lifeOfInstance,
		"life of interface":   lifeOfInterface,
		"life of a volume":    lifeOfVolume,
		"changed instance":    changedInstance,
		"key pairs":           keyPairs,
		"many instances":      manyInstances,
		"provisioned node":    provisionedNode,
		"prices":              instancePrices,
		"group of snapshots":  groupOfSnapshots,
		"lent interface":      lentInterface,
		"moved things":        movedThings,
		"new instances":       newInstances,
		"old specification":   oldSpecification,
		"subscription":        subscription,
		"NLB places":          nlbPlaces,
		"NLB certificates":    nlbCertificates,
		"NLB monitoring":      nlbMonitoring,
		"user certificates":   userCertificates,
	}
}

// TestSimulator runs everything against a simulated cloud whose windows are short but open. Then every action of its tables
// must have succeeded at least once: an action without a happy path in this suite is an action that nobody has seen work.
func TestSimulator(t *testing.T) {
	t.Parallel()
	sim, cfg := simulator(t)
	all := scenarios()
	maps.Copy(all, simulatedScenarios())
	cfg.filters = newProber(openapisim.Products())
	run(t, cfg, all)
	reasons := map[string]bool{}
	for _, names := range withoutEffect() {
		for _, name := range names {
			reasons[name] = true
		}
	}
	for _, name := range cfg.filters.unread() {
		if !reasons[name] {
			t.Errorf("%s: it is listed and changes no answer; read it, or say in withoutEffect why it need not be read", name)
		}
		delete(reasons, name)
	}
	for name := range reasons {
		t.Errorf("%s stands in withoutEffect, and has one", name)
	}

	succeeded := map[string]bool{}
	for _, call := range sim.Calls(0) {
		if call.Code == "" {
			succeeded[call.Product+" "+call.Action] = true
		}
	}
	for _, p := range openapisim.Products() {
		for _, a := range p.Actions {
			if !succeeded[p.Name+" "+a.Name] {
				t.Errorf("%s %s has no happy path in any scenario", p.Name, a.Name)
			}
		}
	}
	if left := remains(sim); len(left) > 0 {
		t.Errorf("the scenarios left %v behind", left)
	}
}

// TestCloud runs what is safe against the cloud that the environment names, if it names one, and records it in CONTRACT_RECORD.
func TestCloud(t *testing.T) {
	t.Parallel()
	cfg := fromEnvironment(t)
	cfg.budget = newBudget(t)
	started := time.Now()
	if cfg.vpcID == "" {
		world := newCloud(t, cfg)
		world.makeWorld()
		cfg = world.config
	}
	cfg.record = newRecorder(cfg)
	run(t, cfg, scenarios())
	if dir := os.Getenv("CONTRACT_RECORD"); dir != "" {
		of := about{cfg.region, started.UTC().Format(time.DateOnly), int(time.Since(started).Minutes()) + 1, yuan(cfg.budget.spent) + " CNY"}
		if err := cfg.record.save(dir, of); err != nil {
			t.Error(err)
		}
	}
	t.Logf("it cost about %s CNY and %s", yuan(cfg.budget.spent), time.Since(started).Round(time.Second))
}

// TestRecord compares the simulator with what the cloud answered when it was last asked.
func TestRecord(t *testing.T) {
	t.Parallel()
	record := readRecord(t, filepath.Join("testdata", "record"))
	if len(record) == 0 {
		t.Skip("nobody has run make contract REGION=… against the cloud yet")
	}
	unknown, idle := known(t, differences(record, simulate(t)))
	for _, d := range unknown {
		t.Error(d)
	}
	for _, line := range idle {
		t.Errorf("testdata/known.txt names a difference that is none: %s", line)
	}
}

// simulate records the scenarios on a simulator.
func simulate(t *testing.T) map[string][]deed {
	t.Helper()
	settings := api.FastSettings()
	world := newCloud(t, place(openapisimtest.New(t, openapisim.Config{Settings: &settings, LimitsOff: true})))
	world.makeWorld()
	world.record = newRecorder(world.config)
	run(t, world.config, scenarios())
	return world.record.deeds
}

// run runs scenarios one after the other, since all routes of a VPC have one writer.
func run(t *testing.T, cfg config, all map[string]func(c *cloud)) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		t.Run(name, func(t *testing.T) { all[name](newCloud(t, cfg)) })
	}
}

// briskSettings have all windows, so that the waiting is tested too, but no long ones.
func briskSettings() *api.Settings {
	s := api.DefaultSettings()
	for _, field := range reflect.ValueOf(&s).Elem().Fields() {
		if window, ok := field.Addr().Interface().(*time.Duration); ok {
			*window = 10 * time.Millisecond
		}
	}
	s.SubscriptionsNotSold = false // the action that makes one has a happy path, too
	return &s
}

func seed() *state.Cloud {
	return &state.Cloud{
		Vpcs:         map[string]*state.Vpc{"vpc-1": {CidrBlock: "192.168.0.0/16", Ipv6Cidrs: []string{"2408::/56"}}},
		Ipv6Gateways: map[string]*state.InternetGateway{"ipv6gw-1": {VpcID: "vpc-1"}},
		VSwitches: map[string]*state.VSwitch{
			"vsw-1": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-h", CidrBlock: "192.168.0.0/24", Ipv6Cidr: "2408:0:0:1::/64"},
			"vsw-2": {VpcID: "vpc-1", ZoneID: "cn-hangzhou-i", CidrBlock: "192.168.1.0/24", Ipv6Cidr: "2408:0:0:2::/64"},
		},
		BandwidthPackages: map[string]*state.BandwidthPackage{"cbwp-1": {Bandwidth: 100}},
		Clusters:          map[string]*state.Cluster{"c-1": {VpcID: "vpc-1", Version: "1.31.1-aliyun.1"}},
		Certificates:      map[string]*state.Certificate{"cert-1": {}, "cert-2": {}},
		UserCertificates:  map[string]*state.UserCertificate{"cert-1": {}, "cert-2": {}},
		LoadBalancers: map[string]*state.LoadBalancer{
			"lb-old":    {AddressType: "internet", Spec: "slb.s1.small"},
			"lb-by-use": {AddressType: "internet", Spec: "slb.s1.small"},
		},
		Instances: map[string]*state.Instance{
			"i-1": {VSwitchID: "vsw-1", PrivateIPs: []string{"192.168.0.11"}},
			"i-2": {VSwitchID: "vsw-1", PrivateIPs: []string{"192.168.0.12"}},
			"i-3": {VSwitchID: "vsw-1", PrivateIPs: []string{"192.168.0.13"}},
		},
		InstanceEvents: map[string]*state.InstanceEvent{
			"e-1": {InstanceID: "i-3", Type: "SystemMaintenance.Reboot", Status: "Executed"},
			"e-2": {InstanceID: "i-3", Type: "SystemMaintenance.Reboot", Status: "Scheduled"},
		},
	}
}

// simulator returns a simulated cloud and where it is.
func simulator(t *testing.T) (*openapisim.Simulator, config) {
	t.Helper()
	sim := openapisimtest.New(t, openapisim.Config{Settings: briskSettings(), LimitsOff: true, Seed: seed()})
	cfg := place(sim)
	cfg.vpcID, cfg.vswitchID, cfg.otherVSwitchID, cfg.instances = "vpc-1", "vsw-1", "vsw-2", []string{"i-1", "i-2"}
	return sim, cfg
}

// place returns where a simulator is.
func place(sim *openapisim.Simulator) config {
	cfg := config{
		scheme: "HTTP", region: "cn-hangzhou", keyID: openapisim.DefaultAccessKeyID, secret: openapisim.DefaultAccessKeySecret,
		endpoints: map[string]string{}, patience: 2 * time.Minute, between: 5 * time.Millisecond,
	}
	for product := range versions() {
		cfg.endpoints[product] = sim.Endpoint(product)
	}
	return cfg
}

// remains counts what scenarios have made and not removed.
func remains(sim *openapisim.Simulator) map[string]int {
	out := map[string]int{}
	sim.View(func(c *state.Cloud) {
		out["launched instances"] = len(c.Instances)
		for id := range seed().Instances {
			if c.Instances[id] != nil {
				out["launched instances"]--
			}
		}
		for _, eni := range c.Interfaces {
			if eni.Type == "Secondary" {
				out["network interfaces"]++
			}
		}
		for _, d := range c.Disks {
			if d.Type == "data" {
				out["disks"]++
			}
		}
		out["snapshots"], out["key pairs"], out["deployment sets"] = len(c.Snapshots), len(c.KeyPairs), len(c.DeploymentSets)
		out["launch templates"], out["groups of snapshots"] = len(c.LaunchTemplates), len(c.SnapshotGroups)
		out["load balancers"] = len(c.LoadBalancers) - len(seed().LoadBalancers)
		out["server groups"] = len(c.ServerGroups)
		out["networks"] = len(c.Vpcs) - len(seed().Vpcs)
		out["things of networks"] = len(c.HaVips) + len(c.PrefixLists) + len(c.DhcpOptionsSets) + len(c.CidrReservations) +
			len(c.AddressPools) + len(c.EipSegments)
		out["gateways"] = len(c.NatGateways) + len(c.Ipv4Gateways) + len(c.Ipv6Gateways) - len(seed().Ipv6Gateways)
		for _, e := range c.Eips {
			if e.Status != "Releasing" {
				out["elastic addresses"]++
			}
		}
		out["access control lists"] = len(c.Acls)
		out["certificates"] = len(c.Certificates) - len(seed().Certificates)
		out["network load balancers"] = len(c.NLBs)
		out["their groups"] = len(c.NLBServerGroups)
		out["user certificates"] = len(c.UserCertificates) - len(seed().UserCertificates)
		out["TLS policies"] = len(c.NLBSecurityPolicies)
	})
	maps.DeleteFunc(out, func(_ string, n int) bool { return n == 0 })
	return out
}
