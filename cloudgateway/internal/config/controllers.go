package config

// ControllerAccounts are the user names of the cluster's controllers, by component. They run in the namespace of the gateway's Lease.
func (c *Config) ControllerAccounts() map[string]string {
	accounts := map[string]string{}
	for _, component := range []string{"lbcontroller", "nodecontroller", "routecontroller"} {
		accounts[component] = "system:serviceaccount:" + c.LeaderElection.Namespace + ":" + component
	}
	return accounts
}

// addControllerScopes adds the scopes that scopeControllers stands for, and warns where it is not known what to keep a controller to.
func (c *Config) addControllerScopes() (warnings []string) {
	if !c.ScopeControllers {
		return nil
	}
	accounts := c.ControllerAccounts()
	if c.ClusterID != "" {
		c.Scopes = append(c.Scopes, Scope{
			Callers: []string{accounts["lbcontroller"]}, ClusterID: c.ClusterID, Controller: true, forControllers: true,
		})
	} else {
		warnings = append(warnings, "scopeControllers: the cluster is not known, so lbcontroller is not kept from the load balancers of other clusters; "+
			"set clusterID, also in the cloud-config file, or scopeControllers to false")
	}
	if c.VpcID != "" {
		c.Scopes = append(c.Scopes, Scope{Callers: []string{accounts["routecontroller"]}, VpcIDs: []string{c.VpcID}, forControllers: true})
	} else {
		warnings = append(warnings, "scopeControllers: the VPC is not known, so routecontroller is not kept from the routes of other VPCs; "+
			"set vpcID, also in the cloud-config file, or scopeControllers to false")
	}
	return warnings
}
