package ecs

import (
	"cmp"
	"encoding/json"
	"slices"

	"alicloud-controllers.dev/cloudgateway/openapisim/api"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/clienttoken"
	"alicloud-controllers.dev/cloudgateway/openapisim/internal/listing"
	"alicloud-controllers.dev/cloudgateway/openapisim/state"
)

func deploymentSetActions() []api.Action {
	id := api.Required("DeploymentSetId")
	strategies := []string{"Availability", "AvailabilityGroup", "LowLatency"}
	return []api.Action{
		api.Write("CreateDeploymentSet",
			clienttoken.Once("ecs/CreateDeploymentSet", clienttoken.Show("DeploymentSetId"), createDeploymentSet),
			api.Words("InvalidDeploymentSetName.Malformed InvalidDescription.Malformed IdempotentParameterMismatch"), region(),
			api.Optional("DeploymentSetName"), api.Optional("Description"), api.OneOf("Strategy", strategies...),
			api.OneOf("Domain", "Default"), api.OneOf("Granularity", "Host"),
			api.OneOf("OnUnableToRedeployFailedInstance", "CancelMembershipAndStart", "KeepStopped"), api.Number("GroupCount", 1, 7),
			api.Optional("ClientToken")),
		api.Read("DescribeDeploymentSets", describeDeploymentSets, api.Words("InvalidParameter"), append(listing.Params(50), region(),
			api.Param{Name: "DeploymentSetIds", Kind: api.JSON}, api.Optional("DeploymentSetName"), api.OneOf("Strategy", strategies...),
			api.OneOf("Domain", "Default"), api.OneOf("Granularity", "Host"))...),
		api.Write("ModifyDeploymentSetAttribute", api.On(deploymentSetByID, modifyDeploymentSet),
			api.Words("InvalidDeploymentSetId.NotFound InvalidDeploymentSetName.Malformed InvalidDescription.Malformed"), region(), id,
			api.Optional("DeploymentSetName"), api.Optional("Description")),
		api.Write("DeleteDeploymentSet", api.On(deploymentSetByID, deleteDeploymentSet),
			api.Words("InvalidDeploymentSetId.NotFound DeploymentSet.NotEmpty"), region(), id),
	}
}

func deploymentSetByID(c *api.Context) (*state.DeploymentSet, *api.Error) {
	return api.Named(c, c.State.DeploymentSets, "DeploymentSetId", deploymentSetNotFound)
}

func deploymentSetNotFound() *api.Error {
	return api.NotFound("InvalidDeploymentSetId.NotFound", "The specified DeploymentSetId does not exist.")
}

func createDeploymentSet(c *api.Context) (string, *api.Error) {
	if err := checkDiskTexts(c.Get("DeploymentSetName"), c.Get("Description"), "InvalidDeploymentSetName.Malformed"); err != nil {
		return "", err
	}
	s := &state.DeploymentSet{
		ID: c.NewID("ds-bp1"), Name: c.Get("DeploymentSetName"), Description: c.Get("Description"),
		Strategy: cmp.Or(c.Get("Strategy"), "Availability"), GroupCount: c.Int("GroupCount", 0), Created: c.Now,
	}
	c.State.DeploymentSets[s.ID] = s
	return s.ID, nil
}

func modifyDeploymentSet(c *api.Context, s *state.DeploymentSet) (any, *api.Error) {
	if err := checkDiskTexts(c.Get("DeploymentSetName"), c.Get("Description"), "InvalidDeploymentSetName.Malformed"); err != nil {
		return nil, err
	}
	c.SetText("DeploymentSetName", &s.Name)
	c.SetText("Description", &s.Description)
	return nil, nil
}

// instancesIn are the ids of the instances of a deployment set.
func instancesIn(c *state.Cloud, setID string) []string {
	var ids []string
	for _, i := range listing.Find(c.Instances, func(i *state.Instance) bool { return i.DeploymentSetID == setID }) {
		ids = append(ids, i.ID)
	}
	return ids
}

func deleteDeploymentSet(c *api.Context, s *state.DeploymentSet) (any, *api.Error) {
	if ids := instancesIn(c.State, s.ID); len(ids) > 0 {
		return nil, forbidden("DeploymentSet.NotEmpty", "Instance %s is in the deployment set.", ids[0])
	}
	delete(c.State.DeploymentSets, s.ID)
	return nil, nil
}

func describeDeploymentSets(c *api.Context) (any, *api.Error) {
	var ids []string
	if c.Has("DeploymentSetIds") && json.Unmarshal([]byte(c.Get("DeploymentSetIds")), &ids) != nil {
		return nil, api.Invalid("DeploymentSetIds")
	}
	matching := listing.Find(c.State.DeploymentSets, func(s *state.DeploymentSet) bool {
		return (!c.Has("DeploymentSetIds") || slices.Contains(ids, s.ID)) && wildcard(c.Get("DeploymentSetName"), s.Name) &&
			listing.Match(c.Get("Strategy"), s.Strategy)
	})
	return listing.Answer(c, matching, "DeploymentSets", "DeploymentSet", func(s *state.DeploymentSet) api.Object {
		instances := instancesIn(c.State, s.ID)
		return api.Object{
			"DeploymentSetId", s.ID, "DeploymentSetName", s.Name, "DeploymentSetDescription", s.Description, "Strategy", s.Strategy,
			"DeploymentStrategy", s.Strategy, "Domain", "Default", "Granularity", "Host", "GroupCount", s.GroupCount,
			"CreationTime", timeText(s.Created), "InstanceAmount", len(instances),
			"InstanceIds", api.Object{"InstanceId", instances},
		}
	}, "RegionId", c.Region)
}
