// Package doctor examines whether the gateway can work with its configuration: the credentials, the way to the cloud, the clock,
// the region and VPC, every permission, and the rate limits, by calls that change nothing. What it finds comes with what to do.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"alicloud-controllers.dev/proto/rpcerr"
	"alicloud-controllers.dev/services/logging"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/flow"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/credentials"
	"alicloud-controllers.dev/cloudgateway/internal/openapi/sts"
	"alicloud-controllers.dev/cloudgateway/internal/rampolicy"
)

// The time that single steps may take.
const (
	fetchTimeout    = 20 * time.Second
	callTimeout     = 10 * time.Second
	endpointTimeout = 5 * time.Second
	limitsTimeout   = 30 * time.Second
	metadataTimeout = 3 * time.Second
)

// Config is what is examined.
type Config struct {
	// OpenAPI is the gateway's way to the cloud. Its Credentials and Budget are not used.
	OpenAPI openapi.Config
	// Source is where the credentials come from.
	Source   credentials.Source
	STS      *sts.Client
	Metadata credentials.MetadataReader
	VpcID    string
	// ClusterID is that of the cluster, by which its instances are tagged; empty: it is not known.
	ClusterID string
	// Features are those whose permissions are tried. Those of Optional are tried, too, and may be missing.
	Features, Optional []rampolicy.Feature
	// Limits are the rate limits that the account is taken to have, by "product/Action". Those of actions that the features need are compared
	// with what Quota Center says.
	Limits map[string]flow.Limit
	// Now is the clock that requests are signed by.
	Now func() time.Time
}

// examination is one run of all checks.
type examination struct {
	Config
	report Report

	client      *openapi.Client
	caller      cloud.Caller
	who         string // the identity, for people
	credentials credentials.Credentials
	refused     bool                     // the cloud does not take the credentials
	unreachable map[openapi.Product]bool // endpoints
	instanceID  string                   // of the instance that this runs on, if any
	vpcCIDR     string                   // the network of the VPC, if it was read
}

// Run does all checks. Those that can't be done because another one failed are skipped.
func Run(ctx context.Context, cfg Config) (*Report, error) {
	x := &examination{Config: cfg, who: "the gateway's identity", unreachable: map[openapi.Product]bool{}}
	found := x.fetch(ctx)
	x.OpenAPI.Credentials, x.OpenAPI.Budget = credentials.Fixed{Credentials: x.credentials}, openapi.Unlimited{}
	x.OpenAPI.Timeout, x.OpenAPI.AttemptTimeout = callTimeout, callTimeout
	x.client = openapi.New(x.OpenAPI)
	defer x.client.Close()
	x.caller = rampolicy.NewGuard(x.client)

	x.endpoints(ctx)
	if found {
		x.identity(ctx)
	}
	x.refused = x.refused || !found
	x.place(ctx)
	x.ownVPC(ctx)
	x.groups(ctx)
	x.permissions(ctx)
	x.rateLimits()
	x.limits(ctx)
	return &x.report, ctx.Err()
}

// fetch gets the credentials.
func (x *examination) fetch(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	const check = "credentials"
	got, err := x.Source.Fetch(ctx)
	if err == nil {
		err = got.Usable(x.Now())
	}
	if err != nil {
		x.report.add(check, Failed, "Give the gateway credentials: see credentials in its configuration, and the detail above.",
			"%s: %s", x.Source.Name(), text(err))
		return false
	}
	x.credentials = got
	ends := "never ends"
	if !got.Expires.IsZero() {
		ends = "ends in " + got.Expires.Sub(x.Now()).Round(time.Second).String()
	}
	x.report.add(check, OK, "", "%s: %s, %s", x.Source.Name(), got.AccessKeyID, ends)
	return true
}

// identity asks STS which identity the credentials belong to. The gateway does not need to know, so a missing way to STS is no failure.
func (x *examination) identity(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	const check = "identity"
	who, err := x.STS.CallerIdentity(ctx, x.credentials)
	switch {
	case err == nil:
		x.who = who.ARN
		x.report.add(check, OK, "", "%s", who.ARN)
	case distrusted(err):
		x.refuse(check, err)
	default:
		x.report.add(check, Warning, "", "unknown, the gateway works without: %s", text(err))
	}
}

// distrusted reports whether the cloud does not take the credentials, whatever they are used for.
func distrusted(err error) bool {
	e, ok := rpcerr.From(err)
	return ok && (e.Reason == rpcerr.CloudCredentials || disabled(e.CloudCode))
}

func disabled(code string) bool {
	return code == "InvalidAccessKeyId.Inactive" || code == "Forbidden.AccessKeyDisabled"
}

// refuse notes that the cloud does not take the credentials, which makes all further calls useless.
func (x *examination) refuse(check string, err error) {
	x.refused = true
	id, code := x.credentials.AccessKeyID, ""
	if e, ok := rpcerr.From(err); ok {
		code = e.CloudCode
	}
	var todo string
	switch {
	case disabled(code):
		todo = "Enable the AccessKey " + id + " in RAM, or replace it."
	case code == "SignatureDoesNotMatch" || code == "IncompleteSignature":
		todo = "Replace the AccessKey secret: it is not that of " + id + "."
	case code == "InvalidAccessKeyId.NotFound":
		todo = "Replace the AccessKey: the cloud does not know " + id + "."
	case strings.HasPrefix(code, "InvalidTimeStamp"), code == "IllegalTimestamp":
		todo = "Set the clock of this machine: it differs from the cloud's by more than 15 minutes."
	default:
		todo = "Replace the credentials: the cloud refuses them."
	}
	x.report.add(check, Failed, todo, "%s", text(err))
}

// place compares the region with that of the ECS instance that this runs on.
func (x *examination) place(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, metadataTimeout)
	defer cancel()
	const check = "region"
	region, err := x.Metadata.Get(ctx, "region-id")
	if err != nil {
		x.report.add(check, Skipped, "", "%s is configured; this is no ECS instance, or the metadata service can't be reached", x.OpenAPI.Region)
		return
	}
	if id, err := x.Metadata.Get(ctx, "instance-id"); err == nil {
		x.instanceID = id
	}
	vpc, err := x.Metadata.Get(ctx, "vpc-id")
	switch {
	case region != x.OpenAPI.Region:
		x.report.add(check, Failed, "Set region to "+region+", or run the gateway in "+x.OpenAPI.Region+".",
			"%s is configured; this instance is in %s", x.OpenAPI.Region, region)
	case err == nil && x.VpcID != "" && vpc != x.VpcID:
		x.report.add(check, Warning, "Set vpcID to "+vpc+", unless the cluster is really in "+x.VpcID+".",
			"%s, as configured; vpcID is %s, but this instance is in %s", region, x.VpcID, vpc)
	default:
		x.report.add(check, OK, "", "%s, as configured", region)
	}
}

// ownVPC looks whether the VPC is in the region and the account.
func (x *examination) ownVPC(ctx context.Context) {
	const check = "vpc"
	switch {
	case x.VpcID == "":
		x.report.add(check, Skipped, "", "vpcID is not configured")
		return
	case x.refused || x.unreachable[openapi.VPC]:
		x.report.add(check, Skipped, "", "needs credentials and the endpoint")
		return
	}
	id, cidr := "", ""
	_, err := x.caller.Do(ctx, cloud.Read(openapi.VPC, "DescribeVpcAttribute", cloud.Params{"VpcId": x.VpcID}),
		&cloud.Fields{"VpcId": &id, "CidrBlock": &cidr})
	switch {
	case err == nil && id == x.VpcID:
		x.vpcCIDR = cidr
		x.report.add(check, OK, "", "%s, %s", x.VpcID, cidr)
	case err == nil || rpcerr.IsNotFound(err):
		x.report.add(check, Failed, "Correct vpcID or region: the account has no "+x.VpcID+" in "+x.OpenAPI.Region+".",
			"%s is not in %s, or not of this account", x.VpcID, x.OpenAPI.Region)
	case distrusted(err):
		x.refuse(check, err)
	case rpcerr.ReasonOf(err) == rpcerr.CloudForbidden:
		x.report.add(check, Warning, "", "not checked, vpc:DescribeVpcAttribute is not permitted")
	default:
		x.report.add(check, Warning, "", "not checked: %s", text(err))
	}
}

// text is an error for people, without what may be secret.
func text(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time: " + logging.Redact(err.Error())
	}
	return logging.Redact(err.Error())
}

// Result is how a check ended.
type Result string

// The results. Only Failed makes the doctor unhappy.
const (
	OK      Result = "ok"
	Hint    Result = "hint"
	Warning Result = "warning"
	Failed  Result = "FAILED"
	Skipped Result = "skipped"
)

// Finding is what a check found.
type Finding struct {
	Check  string
	Result Result
	Detail string
	// Todo says what to do, unless all is well.
	Todo string
}

// Report is what all checks found.
type Report struct{ Findings []Finding }

func (r *Report) add(check string, result Result, todo, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Check: check, Result: result, Detail: fmt.Sprintf(format, args...), Todo: todo})
}

// Failed counts the checks that failed.
func (r *Report) Failed() int {
	n := 0
	for _, f := range r.Findings {
		if f.Result == Failed {
			n++
		}
	}
	return n
}

// WriteTo prints the report for people.
func (r *Report) WriteTo(w io.Writer) (int64, error) {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHECK\tRESULT\tDETAIL")
	var todo []string
	for _, f := range r.Findings {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Check, f.Result, f.Detail)
		if f.Todo != "" && !slices.Contains(todo, f.Todo) {
			todo = append(todo, f.Todo)
		}
	}
	if err := table.Flush(); err != nil {
		return 0, err
	}
	if len(todo) > 0 {
		fmt.Fprintln(&text, "\nWhat to do:")
	}
	for i, t := range todo {
		fmt.Fprintf(&text, "%d. %s\n", i+1, t)
	}
	if n := r.Failed(); n > 0 {
		fmt.Fprintf(&text, "\n%d of %d checks failed.\n", n, len(r.Findings))
	} else {
		fmt.Fprintln(&text, "\nNo check failed.")
	}
	n, err := io.WriteString(w, text.String())
	return int64(n), err
}
