// Package rampolicy knows every action of the cloud that the gateway calls, and by which feature. From this one table come the RAM
// policies that users attach, what `cloudgateway doctor` tries, and what the gateway lets itself send.
package rampolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/openapi"
	"alicloud-controllers.dev/services/rpcerr"
)

// Of returns the rows of a feature.
func Of(feature Feature) []Row {
	return slices.DeleteFunc(Rows(), func(r Row) bool { return !slices.Contains(r.Features, feature) })
}

// Guard is a Caller that sends only what the table has, so that no policy made from it can be too narrow.
type Guard struct {
	caller  cloud.Caller
	allowed map[string]bool
}

// NewGuard guards a caller.
func NewGuard(caller cloud.Caller) *Guard {
	g := &Guard{caller: caller, allowed: map[string]bool{}}
	for _, r := range Rows() {
		g.allowed[r.Name()] = true
	}
	return g
}

// Do makes a call if the table has it.
func (g *Guard) Do(ctx context.Context, call openapi.Call, out any) (openapi.Result, error) {
	name := Row{Product: call.Product, Action: call.Action}.Name()
	if !g.allowed[name] {
		return openapi.Result{}, &rpcerr.Error{
			Code: codes.Internal, Reason: rpcerr.Internal,
			Message: "no RAM policy has " + name + "; add it to the table of cloudgateway/internal/rampolicy",
		}
	}
	return g.caller.Do(ctx, call, out)
}

// document is a policy in RAM's language.
type document struct {
	Version   string
	Statement []statement
}

type statement struct {
	Effect   string
	Action   []string
	Resource string
}

// JSON renders the RAM policy of a feature.
func JSON(feature Feature) ([]byte, error) {
	allow := statement{Effect: "Allow", Resource: "*"}
	for _, r := range Of(feature) {
		allow.Action = append(allow.Action, r.Name())
	}
	slices.Sort(allow.Action)
	text, err := json.MarshalIndent(document{Version: "1", Statement: []statement{allow}}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the policy of %s: %w", feature, err)
	}
	return append(text, '\n'), nil
}

// Markdown renders docs/reference/ram-policies.md.
func Markdown() string {
	var b strings.Builder
	b.WriteString(`# RAM policies

<!-- Generated from cloudgateway/internal/rampolicy; do not edit. -->

The gateway's identity in the cloud (a RAM role or a RAM user) needs one policy for each feature that is used. The policies are in
[deploy/ram-policies](../../deploy/ram-policies); the gateway calls nothing that they do not have. What is missing for the
controllers, and for the services that ` + "`api.enable`" + ` lists, is reported by

` + "```sh\ncloudgateway doctor --config FILE\n```" + `

STS calls (AssumeRoleWithOIDC, GetCallerIdentity) need no permission. An identity that is to assume another role (` + "`credentials.assumeRole`" + `)
needs ` + "`sts:AssumeRole`" + ` on that role, whose trust policy must name the identity.
`)
	for _, f := range Features() {
		fmt.Fprintf(&b, "\n## %s\n\n%s Policy: [%s.json](../../deploy/ram-policies/%s.json).\n\n| action | to |\n|---|---|\n", f, f.About(), f, f)
		for _, r := range Of(f) {
			fmt.Fprintf(&b, "| `%s` | %s |\n", r.Name(), r.For)
		}
	}
	b.WriteString(`
## Trust policy of a role for RRSA

The role that the gateway's ServiceAccount stands for (` + "`credentials.rrsa`" + `) trusts the cluster's OIDC provider. Replace the account id and the
cluster id:

` + "```json" + `
{
  "Version": "1",
  "Statement": [
    {
      "Effect": "Allow",
      "Action": "sts:AssumeRole",
      "Principal": {"Federated": ["acs:ram::<account-id>:oidc-provider/ack-rrsa-<cluster-id>"]},
      "Condition": {
        "StringEquals": {
          "oidc:aud": "sts.aliyuncs.com",
          "oidc:sub": "system:serviceaccount:kube-system:cloudgateway"
        }
      }
    }
  ]
}
` + "```" + `
`)
	return b.String()
}

// Files are the generated files by their path in the repository.
func Files() (map[string][]byte, error) {
	files := map[string][]byte{"docs/reference/ram-policies.md": []byte(Markdown())}
	for _, f := range Features() {
		text, err := JSON(f)
		if err != nil {
			return nil, err
		}
		files["deploy/ram-policies/"+string(f)+".json"] = text
	}
	return files, nil
}
