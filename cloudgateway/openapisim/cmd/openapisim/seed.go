package main

import (
	"flag"
	"fmt"
	"io"

	"alicloud-controllers.dev/cloudgateway/openapisim"
)

// runSeed writes a generated seed: openapisim seed --nodes 100.
func runSeed(args []string, stdout, stderr io.Writer) error {
	var plan openapisim.SeedPlan
	flags := flag.NewFlagSet("openapisim seed", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&plan.Region, "region", "cn-hangzhou", "region, as that of the cloud")
	flags.StringVar(&plan.Cluster, "cluster", "c-seed", "id of the cluster in the tags")
	flags.StringVar(&plan.Block, "block", "172.16.0.0/12", "IPv4 `block` of the VPC")
	flags.IntVar(&plan.Zones, "zones", 2, "zones with a vSwitch each")
	flags.IntVar(&plan.Nodes, "nodes", 3, "instances, over the zones in turn")
	flags.IntVar(&plan.LoadBalancers, "load-balancers", 0, "intranet load balancers with a listener and a vServer group each")
	flags.IntVar(&plan.Servers, "servers", 0, "nodes in each vServer group")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; see openapisim seed --help", flags.Arg(0))
	}
	seed, err := plan.Generate()
	if err != nil {
		return err
	}
	document, err := openapisim.WriteSeed(seed)
	if err != nil {
		return err
	}
	_, err = stdout.Write(document)
	return err
}
