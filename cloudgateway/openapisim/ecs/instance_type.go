package ecs

import (
	"slices"
	"strconv"
	"strings"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
)

// maxTypes is the greatest page of instance types, and the one of calls that ask for none.
const maxTypes = 1600

func newTypeView(s instanceSize) api.Object {
	name := family(s.name)
	return api.Object{
		"InstanceTypeId", s.name, "InstanceTypeFamily", name, "InstanceFamilyLevel", level(name),
		"InstanceCategory", category(name), "Generation", generation(name),
		"CpuArchitecture", s.architecture, "CpuCoreCount", s.cores, "MemorySize", float64(s.gibibytes),
		"EniQuantity", s.interfaces, "EniTotalQuantity", s.interfaces, "EniPrivateIpAddressQuantity", s.ips,
		"EniIpv6AddressQuantity", s.ips, "EniTrunkSupported", true, "EriQuantity", 0, "InstanceBandwidthRx", s.bandwidth,
		"InstanceBandwidthTx", s.bandwidth, "InstancePpsRx", s.packets, "InstancePpsTx", s.packets, "GPUAmount", 0,
		"GPUSpec", "", "LocalStorageCategory", "", "LocalStorageAmount", 0, "LocalStorageCapacity", 0, "DiskQuantity", disksPerInstance + 1,
		"InitialCredit", 0, "BaselineCredit", 0, "NvmeSupport", nvme,
	}
}

const nvme = "supported"

// level is the class of a family.
func level(family string) string {
	switch category(family) {
	case "Burstable":
		return "CreditEntryLevel"
	case "Shared":
		return "EntryLevel"
	}
	return "EnterpriseLevel"
}

// least are the filters by the least of a figure, with the figure of a type. Figures that no type here has are 0, as in the answers.
func least() map[string]func(instanceSize) int {
	none := func(instanceSize) int { return 0 }
	bandwidth, packets := func(s instanceSize) int { return s.bandwidth }, func(s instanceSize) int { return s.packets }
	ips := func(s instanceSize) int { return s.ips }
	return map[string]func(instanceSize) int{
		"MinimumCpuCoreCount":                func(s instanceSize) int { return s.cores },
		"MinimumDiskQuantity":                func(instanceSize) int { return disksPerInstance + 1 },
		"MinimumEniQuantity":                 func(s instanceSize) int { return s.interfaces },
		"MinimumEniPrivateIpAddressQuantity": ips, "MinimumEniIpv6AddressQuantity": ips,
		"MinimumInstanceBandwidthRx": bandwidth, "MinimumInstanceBandwidthTx": bandwidth,
		"MinimumInstancePpsRx": packets, "MinimumInstancePpsTx": packets,
		"MinimumGPUAmount": none, "MinimumEriQuantity": none, "MinimumInitialCredit": none, "MinimumBaselineCredit": none,
		"MinimumLocalStorageAmount": none, "MinimumLocalStorageCapacity": none,
	}
}

// alike are the filters by a word or by several, with the word of a type: those that no type here has find nothing.
func alike() []struct {
	one, many string
	of        func(instanceSize) string
} {
	none := func(instanceSize) string { return "" }
	return []struct {
		one, many string
		of        func(instanceSize) string
	}{
		{"", "InstanceTypes", func(s instanceSize) string { return s.name }},
		{"InstanceTypeFamily", "InstanceTypeFamilies", func(s instanceSize) string { return family(s.name) }},
		{"InstanceCategory", "InstanceCategories", func(s instanceSize) string { return category(family(s.name)) }},
		{"InstanceFamilyLevel", "", func(s instanceSize) string { return level(family(s.name)) }},
		{"CpuArchitecture", "CpuArchitectures", func(s instanceSize) string { return s.architecture }},
		{"NvmeSupport", "", func(instanceSize) string { return nvme }},
		{"GPUSpec", "GpuSpecs", none},
		{"LocalStorageCategory", "LocalStorageCategories", none},
	}
}

// typeFilters are the parameters of DescribeInstanceTypes that leave types out.
func typeFilters() []api.Param {
	number := func(name string) api.Param { return api.Param{Name: name, Kind: api.Int, Min: 0, Max: 1 << 31} }
	out := []api.Param{
		number("MaximumCpuCoreCount"), number("MaximumGPUAmount"), api.Optional("MinimumMemorySize"), api.Optional("MaximumMemorySize"),
	}
	for name := range least() {
		out = append(out, number(name))
	}
	for _, f := range alike() {
		switch f.one {
		case "":
		case "CpuArchitecture":
			out = append(out, api.OneOf(f.one, x86, arm))
		default:
			out = append(out, api.Optional(f.one))
		}
		if f.many != "" {
			out = append(out, api.Param{Name: f.many, Kind: api.Strings, Max: 10})
		}
	}
	slices.SortFunc(out, func(a, b api.Param) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func describeInstanceTypes(c *api.Context) (any, *api.Error) {
	smallest, err := size(c, "MinimumMemorySize", 0)
	if err != nil {
		return nil, err
	}
	greatest, err := size(c, "MaximumMemorySize", 1<<20)
	if err != nil {
		return nil, err
	}
	types := slices.DeleteFunc(catalog(), func(s instanceSize) bool {
		memory := float64(s.gibibytes)
		return memory < smallest || memory > greatest || s.cores > c.Int("MaximumCpuCoreCount", s.cores) || !fits(c, s)
	})
	name := func(s instanceSize) string { return s.name }
	slices.SortFunc(types, func(a, b instanceSize) int { return strings.Compare(a.name, b.name) })
	types, next, ok := listing.After(types, name, c.Get("NextToken"), c.Int("MaxResults", maxTypes))
	if !ok {
		return nil, api.Invalid("NextToken")
	}
	return api.Object{"NextToken", next, "InstanceTypes", api.Object{"InstanceType", api.Objects(types, newTypeView)}}, nil
}

// fits reports whether no filter by a figure or a word leaves a type out.
func fits(c *api.Context, s instanceSize) bool {
	for name, figure := range least() {
		if figure(s) < c.Int(name, 0) {
			return false
		}
	}
	for _, f := range alike() {
		if f.one != "" && !listing.Match(c.Get(f.one), f.of(s)) || f.many != "" && !listing.Among(c.List(f.many), f.of(s)) {
			return false
		}
	}
	return true
}

// size reads a number of gibibytes, which may have a fraction.
func size(c *api.Context, name string, def float64) (float64, *api.Error) {
	if !c.Has(name) {
		return def, nil
	}
	n, err := strconv.ParseFloat(c.Get(name), 64)
	if err != nil || n < 0 {
		return 0, api.Invalid(name)
	}
	return n, nil
}
