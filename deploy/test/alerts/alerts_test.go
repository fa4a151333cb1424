package alerts

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"sigs.k8s.io/yaml"

	"alicloud-controllers.dev/deploy/test/alerts/internal/series"
)

// interval is how often series have a sample and alerts are evaluated.
const interval = time.Minute

// alert is one of the chart's.
type alert struct {
	Alert, Expr, For string
	Annotations      struct{ Summary string }
}

// recording is a set of series in the notation of promtool: a+bxn are n+1 samples, one a minute.
type recording []string

// situations are what each alert must be silent about, and what it must fire for, with which labels.
func situations() map[string]struct {
	silent []recording
	loud   []recording
	gone   []recording // loud where no other cluster has the series: nothing says which cluster lacks a process that never had one
	about  string      // the labels of the alert in each loud situation
} {
	return map[string]struct {
		silent []recording
		loud   []recording
		gone   []recording
		about  string
	}{
		"AlicloudGatewayNotLeading": {
			silent: []recording{
				{`leader_election_master_status{name="cloudgateway",instance="a"} 1x60`,
					`leader_election_master_status{name="cloudgateway",instance="b"} 0x60`},
				// A takeover.
				{`leader_election_master_status{name="cloudgateway",instance="a"} 1x20 0x40`,
					`leader_election_master_status{name="cloudgateway",instance="b"} 0x21 1x39`},
			},
			loud: []recording{{`leader_election_master_status{name="cloudgateway",instance="a"} 0x60`,
				`leader_election_master_status{name="cloudgateway",instance="b"} 0x60`},
				{`leader_election_master_status{name="cloudgateway",instance="a"} 1x20 _x40`, `up 1x60`}},
			gone:  []recording{{`up 1x60`}},
			about: `{name="cloudgateway"}`,
		},
		"AlicloudGatewayTwoLeaders": {
			silent: []recording{{`leader_election_master_status{name="cloudgateway",instance="a"} 1x20 0x40`,
				`leader_election_master_status{name="cloudgateway",instance="b"} 0x19 1x41`}},
			loud: []recording{{`leader_election_master_status{name="cloudgateway",instance="a"} 1x60`,
				`leader_election_master_status{name="cloudgateway",instance="b"} 1x60`}},
			about: `{name="cloudgateway"}`,
		},
		"AlicloudNotReady": {
			silent: []recording{with(pair("lbcontroller", 1), `readiness_check{job="lbcontroller",check="gateway",instance="a"} 1x60`,
				`readiness_check{job="lbcontroller",check="gateway",instance="b"} 0x60`)},
			// Another process has a condition of the same name, which holds.
			loud: []recording{with(append(pair("lbcontroller", 1), pair("nodecontroller", 1)...),
				`readiness_check{job="lbcontroller",check="gateway",instance="a"} 0x60`,
				`readiness_check{job="lbcontroller",check="gateway",instance="b"} 0x60`,
				`readiness_check{job="nodecontroller",check="gateway",instance="a"} 1x60`,
				`readiness_check{job="lbcontroller",check="caches",instance="a"} 1x60`,
			)},
			about: `{check="gateway", job="lbcontroller"}`,
		},
		"AlicloudStandbyMissing": {
			silent: []recording{
				with(pair("lbcontroller", 1), `readiness_check{job="lbcontroller",check="gateway",instance="b"} 1x60`),
				{`leader_election_master_status{name="lbcontroller",job="lbcontroller",instance="a"} 1x60`, // A node is drained.
					`leader_election_master_status{name="lbcontroller",job="lbcontroller",instance="b"} 0x20 _x10 0x30`},
				with(pair("lbcontroller", 1), `readiness_check{job="lbcontroller",check="gateway",instance="b"} 1x10 0x10 1x40`),
			},
			loud: []recording{
				{`leader_election_master_status{name="lbcontroller",job="lbcontroller",instance="a"} 1x60`},
				with(pair("lbcontroller", 1), `readiness_check{job="lbcontroller",check="gateway",instance="b"} 0x60`,
					`readiness_check{job="lbcontroller",check="caches",instance="b"} 1x60`,
					`readiness_check{job="lbcontroller",check="gateway",instance="a"} 1x60`),
			},
			about: `{name="lbcontroller"}`,
		},
		"AlicloudCloudUnanswered": {
			silent: []recording{{`cloudgateway_openapi_unanswered{product="slb"} 2x60`},
				{`cloudgateway_openapi_unanswered{product="slb"} 9x3 0x57`}},
			loud: []recording{{`cloudgateway_openapi_unanswered{product="slb",pod="a"} 0+1x60`,
				`cloudgateway_openapi_unanswered{product="vpc",pod="a"} 0x60`}},
			about: `{product="slb"}`,
		},
		"AlicloudCredentialsEnding": {
			silent: []recording{
				{`cloudgateway_credentials_expiry_timestamp_seconds 0x60`}, // An AccessKey has no end.
				{`cloudgateway_credentials_expiry_timestamp_seconds 3600x40 7200x20`},
			},
			loud:  []recording{{`cloudgateway_credentials_expiry_timestamp_seconds{pod="a"} 3600x60`}},
			about: `{pod="a"}`,
		},
		"AlicloudCredentialsNotRenewed": {
			silent: []recording{
				{`cloudgateway_credentials_refreshes_total{source="rrsa",outcome="error",pod="a"} 0x10 3x50`,
					`cloudgateway_credentials_refreshes_total{source="rrsa",outcome="changed",pod="a"} 1x12 2x48`},
				// One replica can't, and the other can: the first is restarted, and the second renews.
				{`cloudgateway_credentials_refreshes_total{source="file",outcome="unchanged",pod="a"} 0+2x60`},
			},
			loud: []recording{{`cloudgateway_credentials_refreshes_total{source="rrsa",outcome="error",pod="a"} 0x10 1+1x50`,
				`cloudgateway_credentials_refreshes_total{source="rrsa",outcome="changed",pod="a"} 4x60`}},
			about: `{source="rrsa"}`,
		},
		"AlicloudCredentialsRefused": {
			silent: []recording{
				// The first call with a token that had ended, after which a new one is fetched. Calls are rare.
				{`cloudgateway_openapi_calls_total{product="ecs",outcome="authentication",pod="a"} 0x10 1x110`,
					`cloudgateway_openapi_calls_total{product="ecs",outcome="ok",pod="a"} ` + every(5, 24)},
				// A call of a tool is signed with a key that the cloud doesn't take, and all others go on.
				{`cloudgateway_openapi_calls_total{product="ecs",outcome="authentication",pod="a"} 0+1x60`,
					`cloudgateway_openapi_calls_total{product="slb",outcome="ok",pod="a"} 0+5x60`},
				{`cloudgateway_openapi_calls_total{product="ecs",outcome="ok",pod="a"} 7x60`}, // Nobody calls.
			},
			loud: []recording{{`cloudgateway_openapi_calls_total{product="ecs",outcome="authentication",pod="a"} _x20 1+3x40`,
				`cloudgateway_openapi_calls_total{product="ecs",outcome="ok",pod="a"} 0+5x20 100x40`}},
			about: `{}`,
		},
		"AlicloudCallsForbidden": {
			silent: []recording{
				{`cloudgateway_openapi_calls_total{product="ecs",action="X",outcome="permission",pod="a"} 0x10 1x110`}, // Once.
				// The hourly search for orphans, where the policy for source ranges was not given.
				{`cloudgateway_openapi_calls_total{product="ecs",action="X",outcome="permission",pod="a"} 0x10 1x60 2x60 3x60`},
				{`cloudgateway_openapi_calls_total{product="ecs",action="X",outcome="ok",pod="a"} 0+9x120`},
			},
			loud: []recording{{`cloudgateway_openapi_calls_total{product="ecs",action="X",outcome="permission",pod="a"} ` + every(6, 20),
				`cloudgateway_openapi_calls_total{product="ecs",action="Y",outcome="ok",pod="a"} 0+9x120`}},
			about: `{action="X", product="ecs"}`,
		},
		"AlicloudFrontConnectionsRefused": {
			silent: []recording{{`cloudgateway_front_closed_connections_total{reason="no call",pod="a"} 0+60x120`}},
			loud:   []recording{{`cloudgateway_front_closed_connections_total{reason="full",pod="a"} 0+30x120`}},
			about:  `{reason="full"}`,
		},
		"AlicloudFrontCallsRefused": {
			silent: []recording{
				{`cloudgateway_front_calls_total{outcome="ok",pod="a"} 0+60x120`, `cloudgateway_front_calls_total{outcome="error",pod="a"} 0+60x120`},
				{`cloudgateway_front_calls_total{outcome="Throttling",pod="a"} 0+60x9 540x111`}, // Terraform has begun.
				{`cloudgateway_front_calls_total{outcome="ClientClosedRequest",pod="a"} 0+60x120`},
			},
			loud: []recording{{`cloudgateway_front_calls_total{outcome="Throttling",pod="a"} 0+30x120`,
				`cloudgateway_front_calls_total{outcome="Forbidden.RAM",pod="a"} 0+1x120`}},
			about: `{outcome="Throttling"}`,
		},
		"AlicloudFrontAnswersWithheld": {
			silent: []recording{
				{`cloudgateway_front_withheld_answers_total{reason="credentials",pod="a"} 0+5x120`},
				{`cloudgateway_front_withheld_answers_total{reason="quote",pod="a"} 0x20 1x100`}, // Once.
			},
			loud: []recording{{`cloudgateway_front_withheld_answers_total{reason="not_the_cloud",pod="a"} 0x10 0+1x110`,
				`cloudgateway_front_withheld_answers_total{reason="quote",pod="a"} 0x120`}},
			about: `{reason="not_the_cloud"}`,
		},
		"AlicloudFrontKeysUnreadable": {
			silent: []recording{{`cloudgateway_front_keys_unreadable{pod="a"} 0x120`},
				{`cloudgateway_front_keys_unreadable{pod="a"} 0x10 1x3 0x107`}},
			loud:  []recording{{`cloudgateway_front_keys_unreadable{pod="a"} 0x10 1x110`, `cloudgateway_front_keys_unreadable{pod="b"} 0x120`}},
			about: `{}`,
		},
		"AlicloudGatewayConnectionsRefused": {
			silent: []recording{
				{`cloudgateway_closed_connections_total{reason="too often",pod="a"} 0+3x120`},
				{`cloudgateway_closed_connections_total{reason="crowded out",pod="a"} 0+60x4 240x116`}, // All callers came at once.
				{`cloudgateway_closed_connections_total{reason="no call",pod="a"} 0+60x120`},           // Port checks.
			},
			loud: []recording{{
				`cloudgateway_closed_connections_total{reason="too often",pod="a"} 0+30x120`,
				`cloudgateway_closed_connections_total{reason="full",pod="a"} 0x120`,
			}},
			about: `{reason="too often"}`,
		},
		"AlicloudThrottled": {
			silent: []recording{{`cloudgateway_budget_throttled_total{product="slb",action="X"} 0+1x120`},
				{`cloudgateway_budget_throttled_total{product="slb",action="X"} 0+60x10 600x110`}},
			loud:  []recording{{`cloudgateway_budget_throttled_total{product="slb",action="X",pod="a"} 0+6x120`}},
			about: `{action="X", product="slb"}`,
		},
		"AlicloudQueueOld": {
			silent: []recording{
				with(pair("lbcontroller", 1),
					`reconcile_queue_oldest_seconds{controller="service",job="lbcontroller",instance="a"} 200x60`),
				with(pair("lbcontroller", 1),
					`reconcile_queue_oldest_seconds{controller="service",job="lbcontroller",instance="a"} 0+60x9 0x50`)},
			loud: []recording{with(pair("lbcontroller", 1),
				`reconcile_queue_oldest_seconds{controller="service",job="lbcontroller",instance="a"} 0+60x60`,
				`reconcile_queue_oldest_seconds{controller="node",job="lbcontroller",instance="a"} 0x60`)},
			about: `{controller="service"}`,
		},
		"AlicloudReconcileFailing": {
			silent: []recording{
				with(pair("lbcontroller", 1), `reconcile_total{controller="service",outcome="success",job="lbcontroller",instance="a"} 0+600x120`,
					`reconcile_total{controller="service",outcome="error",job="lbcontroller",instance="a"} 0x120`),
				// An outage of twenty minutes.
				with(pair("lbcontroller", 1), `reconcile_total{controller="service",outcome="error",job="lbcontroller",instance="a"} 0+30x20 600x100`),
				// Annotations that are wrong.
				with(pair("lbcontroller", 1), `reconcile_total{controller="service",outcome="terminal",job="lbcontroller",instance="a"} 0+30x120`),
			},
			loud: []recording{
				with(pair("lbcontroller", 1), `reconcile_total{controller="service",outcome="error",job="lbcontroller",instance="a"} 0+12x120`),
				// One object.
				with(pair("lbcontroller", 1), `reconcile_total{controller="service",outcome="error",job="lbcontroller",instance="a"} `+every(6, 20)),
				with(pair("lbcontroller", 1), `reconcile_total{controller="service",outcome="panic",job="lbcontroller",instance="a"} `+every(6, 20)),
			},
			about: `{controller="service"}`,
		},
		"AlicloudControllerNotLeading": {
			silent: []recording{
				controllers(`leader_election_master_status{name="routecontroller",instance="a"} 1x60`,
					`leader_election_master_status{name="routecontroller",instance="b"} 0x60`),
				controllers( // A takeover.
					`leader_election_master_status{name="routecontroller",instance="a"} 1x20 0x40`,
					`leader_election_master_status{name="routecontroller",instance="b"} 0x22 1x38`,
				),
				// The gateway has alerts of its own.
				controllers(`leader_election_master_status{name="routecontroller",instance="a"} 1x60`,
					`leader_election_master_status{name="cloudgateway",instance="a"} 1x20 0x40`),
			},
			loud: []recording{
				controllers(`leader_election_master_status{name="routecontroller",instance="a"} 1x20 0x40`),
				controllers(`leader_election_master_status{name="routecontroller",instance="a"} 0x60`),      // It has never led.
				controllers(`leader_election_master_status{name="routecontroller",instance="a"} 1x20 _x40`), // It is gone.
				controllers(`leader_election_master_status{name="routecontroller",instance="a"} 1x60`,
					`leader_election_master_status{name="routecontroller",instance="b"} 1x60`),
			},
			gone:  []recording{controllers(`up 1x60`)},
			about: `{name="routecontroller"}`,
		},
		"AlicloudServicesNotSynced": {
			silent: []recording{{`lbcontroller_services{state="Synced"} 9x60`, `lbcontroller_services{state="Failed"} 0x60`,
				`lbcontroller_services{state="Pending"} 1x60`, `lbcontroller_services{state="Starting"} 1x60`},
				{`lbcontroller_services{state="Failed"} 3x20 0x40`}},
			loud:  []recording{{`lbcontroller_services{state="Invalid",pod="a"} 1x60`, `lbcontroller_services{state="Synced",pod="a"} 9x60`}},
			about: `{state="Invalid"}`,
		},
		"AlicloudServicesPending": {
			silent: []recording{{`lbcontroller_services{state="Pending"} 5x10 0x50`}},
			loud:   []recording{{`lbcontroller_services{state="Pending",pod="a"} 1x60`, `lbcontroller_services{state="Pending",pod="b"} 0x60`}},
			about:  `{}`,
		},
		"AlicloudServerGroupBindingsRefused": {
			silent: []recording{{`lbcontroller_server_group_bindings{state="Registered"} 9x60`,
				`lbcontroller_server_group_bindings{state="Pending"} 1x60`},
				{`lbcontroller_server_group_bindings{state="ServerGroupNotFound"} 1x20 _x40`}},
			loud: []recording{{`lbcontroller_server_group_bindings{state="Conflicted",pod="a"} 1x60`,
				`lbcontroller_server_group_bindings{state="Registered",pod="a"} 9x60`}},
			about: `{state="Conflicted"}`,
		},
		"AlicloudCertificateEnding": {
			silent: []recording{{`lbcontroller_certificate_end_timestamp_seconds{certificate="c"} 2000000x120`}},
			loud:   []recording{{`lbcontroller_certificate_end_timestamp_seconds{certificate="c",pod="a"} 1200000x120`}},
			about:  `{certificate="c"}`,
		},
		"AlicloudOrphanedLoadBalancers": {
			silent: []recording{{`lbcontroller_orphans 0x120`}, {`lbcontroller_orphans 2x40 0x80`}},
			loud:   []recording{{`lbcontroller_orphans{pod="a"} 1x120`}},
			about:  `{}`,
		},
		"AlicloudNodesUninitialized": {
			silent: []recording{{`nodecontroller_nodes{state="uninitialized"} 50x10 0x50`, `nodecontroller_nodes{state="forwarding"} 50x60`}},
			loud: []recording{{`nodecontroller_nodes{state="uninitialized",pod="a"} 1x60`,
				`nodecontroller_nodes{state="uninitialized",pod="b"} 0x60`}},
			about: `{}`,
		},
		"AlicloudInstancesUnread": {
			silent: []recording{{`nodecontroller_instances_unread{cause="throttled"} 1x10 0x50`}},
			loud: []recording{{`nodecontroller_instances_unread{cause="credentials",pod="a"} 1x60`,
				`nodecontroller_instances_unread{cause="other",pod="a"} 0x60`}},
			about: `{cause="credentials"}`,
		},
		"AlicloudNodesForwarding": {
			silent: []recording{{`nodecontroller_nodes{state="forwarding"} 50x20 0x40`}}, // Many join at once.
			loud:   []recording{{`nodecontroller_nodes{state="forwarding",pod="a"} 3x60`, `nodecontroller_nodes{state="initialized",pod="a"} 9x60`}},
			about:  `{}`,
		},
		"AlicloudNodesOfOtherMachines": {
			silent: []recording{{`nodecontroller_nodes{state="stale_provider_id"} 0x60`, `nodecontroller_nodes{state="silent"} 5x60`}},
			loud:   []recording{{`nodecontroller_nodes{state="stale_provider_id",pod="a"} 1x60`}},
			about:  `{}`,
		},
		"AlicloudNodesOfWrongInstances": {
			silent: []recording{{`nodecontroller_nodes{state="foreign"} 1x10 0x50`, `nodecontroller_nodes{state="other"} 5x60`,
				`nodecontroller_nodes{state="duplicate"} 0x60`}},
			loud:  []recording{{`nodecontroller_nodes{state="duplicate",pod="a"} 1x60`, `nodecontroller_nodes{state="foreign",pod="a"} 0x60`}},
			about: `{state="duplicate"}`,
		},
		"AlicloudServingCertificatesUnapproved": {
			silent: []recording{{`nodecontroller_unapproved_serving_nodes 0x60`}, {`nodecontroller_unapproved_serving_nodes 9x5 0x55`}},
			loud:   []recording{{`nodecontroller_unapproved_serving_nodes{pod="a"} 1x60`, `nodecontroller_unapproved_serving_nodes{pod="b"} 0x60`}},
			about:  `{}`,
		},
		"AlicloudRouteTableNotManaged": {
			silent: []recording{{`routecontroller_unmanaged_table_nodes{route_table="vtb-2"} 0x60`},
				{`routecontroller_unmanaged_table_nodes{route_table="vtb-2"} 3x10 0x50`}},
			loud:  []recording{{`routecontroller_unmanaged_table_nodes{route_table="vtb-2",pod="a"} 1x60`}},
			about: `{route_table="vtb-2"}`,
		},
		"AlicloudNodeDeletionsHeld": {
			silent: []recording{{`nodecontroller_held_deletions{cause="budget"} 5x60`, `nodecontroller_held_deletions{cause="record"} 5x60`},
				{`nodecontroller_held_deletions{cause="unanswered"} 5x10 0x50`}},
			loud: []recording{{`nodecontroller_held_deletions{cause="inconsistent",pod="a"} 1x60`,
				`nodecontroller_held_deletions{cause="unanswered",pod="a"} 0x60`}},
			about: `{cause="inconsistent"}`,
		},
		"AlicloudRoutesMissing": {
			silent: []recording{{`routecontroller_routes{route_table="vtb-1",state="missing"} 40x5 0x55`,
				`routecontroller_routes{route_table="vtb-1",state="available"} 9x60`}},
			loud: []recording{
				{`routecontroller_routes{route_table="vtb-1",state="missing",pod="a"} 1x60`},
				{`routecontroller_routes{route_table="vtb-1",state="pending",pod="a"} 1x60`},
				{`routecontroller_routes{route_table="vtb-1",state="unusable",pod="a"} 1x60`},
			},
			about: `{route_table="vtb-1"}`,
		},
		"AlicloudNoNodeClaimsRoutes": {
			silent: []recording{{`routecontroller_no_node_claims{route_table="vtb-1"} 0x60`}},
			loud:   []recording{{`routecontroller_no_node_claims{route_table="vtb-1",pod="a"} 1x60`}},
			about:  `{route_table="vtb-1"}`,
		},
		"AlicloudRouteTableUnread": {
			silent: []recording{{`routecontroller_table_unread{route_table="vtb-1",cause="throttled"} 1x10 0x50`}},
			loud: []recording{{
				`routecontroller_table_unread{route_table="vtb-1",cause="credentials",pod="a"} 1x60`,
				`routecontroller_table_unread{route_table="vtb-1",cause="other",pod="a"} 0x60`,
			}},
			about: `{cause="credentials", route_table="vtb-1"}`,
		},
		"AlicloudRouteDeletionsHeld": {
			silent: []recording{{`routecontroller_held_deletions{route_table="vtb-1"} 6x20 0x100`}},
			loud:   []recording{{`routecontroller_held_deletions{route_table="vtb-1",pod="a"} 6x120`}},
			about:  `{route_table="vtb-1"}`,
		},
		"AlicloudRoutesUnconfirmed": {
			silent: []recording{{`routecontroller_unconfirmed_routes{route_table="vtb-1",cause="throttled"} 6x20 0x100`}},
			loud:   []recording{{`routecontroller_unconfirmed_routes{route_table="vtb-1",cause="region",pod="a"} 6x120`}},
			about:  `{cause="region", route_table="vtb-1"}`,
		},
		"AlicloudLastServersKept": {
			silent: []recording{{`lbcontroller_last_servers 0x60`}, {`lbcontroller_last_servers 30x10 0x50`}},
			loud:   []recording{{`lbcontroller_last_servers{pod="a"} 2x60`, `lbcontroller_last_servers{pod="b"} 0x60`}},
			about:  `{}`,
		},
		"AlicloudServicesWithoutBackends": {
			silent: []recording{{`lbcontroller_services_without_backends 0x60`}, {`lbcontroller_services_without_backends 3x20 0x40`}}, // A rollout.
			loud:   []recording{{`lbcontroller_services_without_backends{pod="a"} 1x60`, `lbcontroller_services_without_backends{pod="b"} 0x60`}},
			about:  `{}`,
		},
		"AlicloudNoInstanceFound": {
			silent: []recording{{`nodecontroller_no_instance_found 0x60`}, {`nodecontroller_no_instance_found 1x5 0x55`}},
			loud:   []recording{{`nodecontroller_no_instance_found{pod="a"} 1x60`, `nodecontroller_no_instance_found{pod="b"} 0x60`}},
			about:  `{}`,
		},
		"AlicloudMaintenanceImminent": {
			silent: []recording{{`nodecontroller_planned_maintenance_nodes{state="imminent"} 0x60`,
				`nodecontroller_planned_maintenance_nodes{state="scheduled"} 5x60`}},
			loud: []recording{{`nodecontroller_planned_maintenance_nodes{state="imminent",pod="a"} 1x60`,
				`nodecontroller_planned_maintenance_nodes{state="imminent",pod="b"} 0x60`}},
			about: `{}`,
		},
		"AlicloudNodeDeletionsDeferred": {
			silent: []recording{
				{`nodecontroller_held_deletions{cause="budget"} 0x60`}, {`nodecontroller_held_deletions{cause="budget"} 30-2x15 0x45`},
			},
			loud:  []recording{{`nodecontroller_held_deletions{cause="budget"} 7x60`}},
			about: `{}`,
		},
		"AlicloudRecordUnusable": {
			silent: []recording{
				{`routecontroller_record_unusable 0x60`, `nodecontroller_held_deletions{cause="budget"} 5x60`},
				{`routecontroller_record_unusable 1x10 0x50`},
			},
			loud:  []recording{{`routecontroller_record_unusable{pod="a"} 1x60`}, {`nodecontroller_held_deletions{cause="record",pod="a"} 2x60`}},
			about: `{}`,
		},
		"AlicloudRoutesRefused": {
			silent: []recording{{`routecontroller_routes{route_table="vtb-1",state="refused"} 0x60`}},
			loud: []recording{{`routecontroller_routes{route_table="vtb-1",state="blocked",pod="a"} 1x60`,
				`routecontroller_routes{route_table="vtb-2",state="refused"} 0x60`}},
			about: `{route_table="vtb-1"}`,
		},
		"AlicloudRouteTableFull": {
			silent: []recording{
				{`routecontroller_route_entries{route_table="vtb-1"} 159x60`, `routecontroller_route_quota 200x60`},
				{`routecontroller_route_entries{route_table="vtb-1"} 190x60`, `routecontroller_route_quota 0x60`}, // It is not known.
			},
			loud: []recording{{
				`routecontroller_route_entries{route_table="vtb-1",pod="a"} 160x60`, `routecontroller_route_entries{route_table="vtb-2",pod="a"} 3x60`,
				`routecontroller_route_quota{pod="a"} 200x60`,
			}},
			about: `{route_table="vtb-1"}`,
		},
	}
}

// every is a counter that grows by one every so many minutes, so often.
func every(minutes, times int) string {
	var values []string
	for i := range times {
		values = append(values, fmt.Sprintf("%dx%d", i, minutes-1))
	}
	return strings.Join(values, " ")
}

// pair is a process with two replicas, the first of which leads or not.
func pair(name string, leads int) recording {
	return recording{
		fmt.Sprintf(`leader_election_master_status{name=%[1]q,job=%[1]q,instance="a"} %[2]dx120`, name, leads),
		fmt.Sprintf(`leader_election_master_status{name=%[1]q,job=%[1]q,instance="b"} 0x120`, name),
	}
}

// with is a recording with further series.
func with(r recording, lines ...string) recording { return append(slices.Clone(r), lines...) }

// controllers are those but routecontroller, which lead, and further series.
func controllers(lines ...string) recording {
	return with(lines, append(pair("lbcontroller", 1), pair("nodecontroller", 1)...)...)
}

// strangers are the series of other programs of a cluster that have names like ours, and are in trouble, or hide it.
func strangers() recording {
	return recording{
		`leader_election_master_status{name="kube-scheduler",job="kube-scheduler",instance="s"} 1x20 0x100`,
		`leader_election_master_status{name="some-operator.example.com",job="operator",instance="o"} 1x20 _x100`,
		`leader_election_master_status{name="controller-leader-election-helper",namespace="x",job="x",instance="x"} 1x120`,
		`leader_election_master_status{name="controller-leader-election-helper",namespace="y",job="y",instance="y"} 1x120`,
		`readiness_check{job="operator",check="gateway",instance="o"} 0x120`,
		`readiness_check{job="lbcontroller",check="gateway",instance="another program of that job"} 1x120`,
		`reconcile_total{controller="service",outcome="error",job="operator",instance="o"} 0+60x120`,
		`reconcile_queue_oldest_seconds{controller="service",job="operator",instance="o"} 0+60x120`,
	}
}

// healthy is a cluster in which nothing is wrong.
func healthy() recording {
	r := recording{
		`cloudgateway_openapi_unanswered{product="slb",pod="a"} 0x120`, `cloudgateway_openapi_unanswered{product="vpc",pod="a"} 0x120`,
		`cloudgateway_credentials_expiry_timestamp_seconds{pod="a"} 90000x120`,
		`cloudgateway_credentials_refreshes_total{source="rrsa",outcome="changed",pod="a"} 0+1x120`,
		`cloudgateway_openapi_calls_total{product="ecs",action="X",outcome="ok",pod="a"} 0+60x120`,
		`cloudgateway_closed_connections_total{reason="full",pod="a"} 0x120`, `cloudgateway_front_calls_total{outcome="ok",pod="a"} 0+60x120`,
		`cloudgateway_budget_throttled_total{product="slb",action="X",pod="a"} 0x120`,
		`lbcontroller_services{state="Synced",pod="a"} 9x120`, `lbcontroller_services{state="Pending",pod="a"} 0x120`,
		`lbcontroller_certificate_end_timestamp_seconds{certificate="c",pod="a"} 9000000x120`, `lbcontroller_orphans{kind="clb",pod="a"} 0x120`,
		`lbcontroller_last_servers{pod="a"} 0x120`, `lbcontroller_services_without_backends{pod="a"} 0x120`,
		`nodecontroller_no_instance_found{pod="a"} 0x120`, `nodecontroller_instances_unread{cause="credentials",pod="a"} 0x120`,
		`nodecontroller_nodes{state="initialized",pod="a"} 9x120`, `nodecontroller_nodes{state="foreign",pod="a"} 0x120`,
		`routecontroller_unmanaged_table_nodes{route_table="vtb-2",pod="a"} 0x120`,
		`nodecontroller_planned_maintenance_nodes{state="imminent",pod="a"} 0x120`,
		`nodecontroller_held_deletions{cause="inconsistent",pod="a"} 0x120`, `nodecontroller_held_deletions{cause="budget",pod="a"} 0x120`,
		`routecontroller_record_unusable{pod="a"} 0x120`, `routecontroller_routes{route_table="vtb-1",state="refused",pod="a"} 0x120`,
		`routecontroller_route_entries{route_table="vtb-1",pod="a"} 195x120`, `routecontroller_route_quota{pod="a"} 1000x120`,
		`routecontroller_routes{route_table="vtb-1",state="available",pod="a"} 9x120`,
		`routecontroller_no_node_claims{route_table="vtb-1",pod="a"} 0x120`,
		`routecontroller_table_unread{route_table="vtb-1",cause="other",pod="a"} 0x120`,
		`routecontroller_held_deletions{route_table="vtb-1",pod="a"} 0x120`,
		`routecontroller_unconfirmed_routes{route_table="vtb-1",cause="region",pod="a"} 0x120`,
	}
	for _, name := range []string{"cloudgateway", "lbcontroller", "nodecontroller", "routecontroller"} {
		r = append(r, pair(name, 1)...)
		for _, instance := range []string{"a", "b"} {
			r = append(r, fmt.Sprintf(`readiness_check{job=%q,check="gateway",instance=%q} 1x120`, name, instance),
				fmt.Sprintf(`reconcile_total{controller="service",outcome="success",job=%q,instance=%q} 0+60x120`, name, instance),
				fmt.Sprintf(`reconcile_queue_oldest_seconds{controller="service",job=%q,instance=%q} 0x120`, name, instance))
		}
	}
	return r
}

// in puts the label of a cluster on series.
func in(cluster string, r recording) recording {
	var labelled recording
	for _, line := range r {
		name, values, _ := strings.Cut(line, " ")
		if open := strings.IndexByte(line, '{'); open >= 0 {
			end := strings.LastIndexByte(line, '}')
			name, values = line[:open]+"{"+line[open+1:end]+",", line[end+2:]
		} else {
			name += "{"
		}
		labelled = append(labelled, name+fmt.Sprintf("cluster=%q} ", cluster)+values)
	}
	return labelled
}

// clustered gives the labels of an alert about a cluster.
func clustered(t *testing.T, about, cluster string) string {
	t.Helper()
	found, err := parser.NewParser(parser.Options{}).ParseMetric(about)
	if err != nil {
		t.Fatal(err)
	}
	return labels.NewBuilder(found).Set("cluster", cluster).Labels().String()
}

// TestAlerts evaluates every alert as Prometheus does: it fires about the right thing once its trouble has lasted, and
// is silent otherwise. Other programs of the cluster change nothing.
func TestAlerts(t *testing.T) {
	t.Parallel()
	check(t, "one-cluster", func(name string, a alert) {
		tt := situations()[name]
		for _, r := range tt.silent {
			silent(t, a, with(r, strangers()...))
		}
		for _, r := range append(tt.loud, tt.gone...) {
			loud(t, a, with(r, strangers()...), tt.about)
		}
		for _, label := range regexp.MustCompile(`\{\{ \$labels\.([a-z_]+) \}\}`).FindAllStringSubmatch(a.Annotations.Summary, -1) {
			if !strings.Contains(tt.about, label[1]+"=") {
				t.Errorf("the summary speaks of the label %s, which the alert has not: %s", label[1], a.Annotations.Summary)
			}
		}
	})
}

// TestClusters: where clusters share a Prometheus, what is wrong in one is neither hidden by the others nor charged to them.
func TestClusters(t *testing.T) {
	t.Parallel()
	check(t, "clusters", func(name string, a alert) {
		tt := situations()[name]
		others := with(in("a", with(healthy(), strangers()...)), in("b", strangers())...)
		silent(t, a, with(in("c", healthy()), others...))
		for _, r := range tt.silent {
			silent(t, a, with(in("b", r), others...))
		}
		for _, r := range tt.loud {
			loud(t, a, with(in("b", r), others...), clustered(t, tt.about, "b"))
		}
		for _, r := range tt.gone { // No cluster has it, or no series has the label: Prometheus adds external labels after the rules.
			loud(t, a, with(r, strangers()...), tt.about)
		}
	})
}

// check runs the test of each alert that the chart makes with some values.
func check(t *testing.T, file string, test func(name string, a alert)) {
	t.Helper()
	var rules struct{ Groups []struct{ Rules []alert } }
	load(t, "../../chart/testdata/alerts/"+file+".yaml", &rules)
	all := map[string]alert{}
	for _, a := range rules.Groups[0].Rules {
		all[a.Alert] = a
	}
	if a, b := slices.Sorted(maps.Keys(all)), slices.Sorted(maps.Keys(situations())); !slices.Equal(a, b) {
		t.Fatalf("the chart has the alerts %q, there are situations for %q", a, b)
	}
	for name, a := range all {
		test(name, a)
	}
}

func silent(t *testing.T, a alert, r recording) {
	t.Helper()
	if got := firing(t, a, r); len(got) > 0 {
		t.Errorf("%s fires with %q: %q", a.Alert, r, got)
	}
}

func loud(t *testing.T, a alert, r recording, about string) {
	t.Helper()
	if got := firing(t, a, r); !slices.Equal(got, []string{about}) {
		t.Errorf("with %q %s fires about %q, want %q", r, a.Alert, got, about)
	}
}

// TestDashboard: Prometheus understands every query of the dashboard.
func TestDashboard(t *testing.T) {
	t.Parallel()
	type query struct{ Title, Expr string }
	var file struct {
		Rows []struct {
			Stats  []query
			Panels []struct {
				Title   string
				Queries []query
			}
		}
	}
	load(t, "../../chart/files/dashboard.yaml", &file)
	understood := func(title, expr string) {
		expr = series.OfOneCluster(expr)
		if _, err := promql.NewEngine(promql.EngineOpts{MaxSamples: 1, Timeout: time.Minute}).NewInstantQuery(
			t.Context(), &series.Memory{}, nil, expr, time.Unix(0, 0)); err != nil {
			t.Errorf("%s: %v", title, err)
		}
	}
	n := 0
	for _, row := range file.Rows {
		for _, stat := range row.Stats {
			understood(stat.Title, stat.Expr)
		}
		for _, panel := range row.Panels {
			n++
			for _, query := range panel.Queries {
				understood(panel.Title, query.Expr)
			}
		}
	}
	if n == 0 {
		t.Fatal("there are no panels")
	}
}

func load(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// firing evaluates an alert once a minute over a recording, and returns the labels of all that ever fired, sorted.
func firing(t *testing.T, a alert, r recording) []string {
	t.Helper()
	fired, _ := evaluated(t, a, r)
	return fired
}

// lastFiring is the last minute of a recording in which an alert fires.
func lastFiring(t *testing.T, a alert, r recording) int {
	t.Helper()
	_, last := evaluated(t, a, r)
	return last
}

func evaluated(t *testing.T, a alert, r recording) (names []string, last int) {
	t.Helper()
	patience, err := model.ParseDuration(a.For)
	if err != nil {
		t.Fatal(err)
	}
	recorded, end := parse(t, r)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute})
	fired, since := map[string]bool{}, map[string]time.Time{}
	for at := time.Unix(0, 0); !at.After(end); at = at.Add(interval) {
		query, err := engine.NewInstantQuery(t.Context(), recorded, nil, a.Expr, at)
		if err != nil {
			t.Fatal(err)
		}
		result, err := query.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatal(err)
		}
		pending := map[string]time.Time{}
		for _, sample := range result {
			key := sample.Metric.DropReserved(func(name string) bool { return name == model.MetricNameLabel }).String()
			began, before := since[key]
			if !before {
				began = at
			}
			if pending[key] = began; at.Sub(began) >= time.Duration(patience) {
				fired[key], last = true, int(at.Sub(time.Unix(0, 0))/interval)
			}
		}
		since = pending
		query.Close()
	}
	return slices.Sorted(maps.Keys(fired)), last
}

// parse reads a recording, and returns when its first series ends, and with it what is looked at.
func parse(t *testing.T, r recording) (*series.Memory, time.Time) {
	t.Helper()
	m, end := &series.Memory{}, time.Time{}
	for _, line := range r {
		name, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		var samples []chunks.Sample
		for i, value := range values {
			if value.Omitted {
				continue
			}
			samples = append(samples, series.Sample(time.Unix(0, 0).Add(time.Duration(i)*interval), value.Value))
		}
		if len(m.Series) == 0 {
			end = time.Unix(0, 0).Add(time.Duration(len(values)-1) * interval)
		}
		m.Series = append(m.Series, storage.NewListSeries(name, samples))
	}
	return m, end
}
