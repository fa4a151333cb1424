package scope

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
	"sigs.k8s.io/yaml"

	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
	vpcv1 "alicloud-controllers.dev/proto/cloudgateway/vpc/v1"
	"alicloud-controllers.dev/proto/method"
	"alicloud-controllers.dev/proto/rpcerr"

	"alicloud-controllers.dev/cloudgateway/internal/cloud"
	"alicloud-controllers.dev/cloudgateway/internal/config"
	"alicloud-controllers.dev/cloudgateway/internal/rpc"
)

var update = flag.Bool("update", false, "write docs/reference/scopes.md")

// marking is what says whose a resource is, and where it is.
type marking struct {
	name string
	tags []*commonv1.Tag
	vpc  string
}

const (
	ownCluster, ownVPC = "c-1", "vpc-1"
	namespace          = "system:serviceaccount:kube-system:"
)

func markings() []marking {
	own := []*commonv1.Tag{tag(ClusterTag, ownCluster), tag(ServiceTag, "a0123")}
	return []marking{
		{"own", own, ownVPC},
		{"another cluster's", []*commonv1.Tag{tag(ClusterTag, "c-2"), tag(ServiceTag, "a4567")}, ownVPC},
		{"no mark", []*commonv1.Tag{tag("team", "web")}, ownVPC},
		{"the existing CCM's mark alone", []*commonv1.Tag{tag(ServiceTag, "a0123")}, ownVPC},
		{"own, in another VPC", own, "vpc-2"},
	}
}

// kindOwner gives every resource of a kind the same marking.
type kindOwner struct {
	kind Kind
	now  *marking
}

func (o kindOwner) Kind() string { return string(o.kind) }

func (o kindOwner) Facts(context.Context, string, time.Duration) ([]*commonv1.Tag, string, error) {
	if o.kind == Network {
		return nil, o.now.vpc, nil
	}
	if o.kind == UserCertificate {
		return cloud.MarkOf(nameFor(o.now.tags)), "", nil
	}
	if slices.Contains([]Kind{EIP, "access control list", "server certificate", "CA certificate"}, o.kind) {
		return o.now.tags, "", nil
	}
	return o.now.tags, o.now.vpc, nil
}

// nameFor is the name of what shows no tags, which says the same.
func nameFor(tags []*commonv1.Tag) string {
	for _, t := range tags {
		if t.GetKey() == ClusterTag {
			return "k8s-" + t.GetValue() + "-0123456789ab"
		}
	}
	return "web"
}

// tableRow is what a method changes, in words.
type tableRow struct{ what, verb string }

// rows are the methods that write, by what they change.
func rows() (order []tableRow, methods map[tableRow][]method.Method) {
	methods = map[tableRow][]method.Method{}
	for _, m := range method.All() {
		if m.Reads() {
			continue
		}
		for _, row := range rowsOf(m) {
			if methods[row] == nil {
				order = append(order, row)
			}
			methods[row] = append(methods[row], m)
		}
	}
	slices.SortFunc(order, func(a, b tableRow) int { return strings.Compare(a.what+" "+a.verb, b.what+" "+b.verb) })
	return order, methods
}

const unbind, unbindAny = "take off the load balancer that the request names", "take off whatever it is bound to"

// rowsOf are those of a method: one as a rule.
func rowsOf(m method.Method) []tableRow {
	owners := m.Options.GetOwners()
	row := tableRow{owners[0].GetKind(), m.Verb()}
	switch {
	case m.FullName() == vpcv1.EipService_UnassociateEip_FullMethodName:
		return []tableRow{{row.what, unbind}, {row.what, unbindAny}}
	case len(owners) > 1 && owners[1].GetKindField() == "":
		row.verb = "attach to an instance"
	case len(owners) > 1: // To bind an EIP.
		row.verb = "bind to a load balancer"
	case owners[0].GetKind() == string(Network), owners[0].GetPart():
		row.what = m.Options.GetResource() + " of a " + row.what
	}
	return []tableRow{row}
}

// requestOf fills in what a method's owners name, and the marks of what it makes.
func requestOf(m method.Method, verb string, made marking) proto.Message {
	request := dynamicpb.NewMessage(m.Descriptor.Input())
	set := func(path, value string) {
		at := protoreflect.Message(request)
		for {
			name, rest, nested := strings.Cut(path, ".")
			field := at.Descriptor().Fields().ByName(protoreflect.Name(name))
			if !nested {
				at.Set(field, protoreflect.ValueOfString(value))
				return
			}
			at, path = at.Mutable(field).Message(), rest
		}
	}
	for _, owner := range m.Options.GetOwners() {
		switch {
		case owner.GetField() != "" && owner.GetKind() == string(Network):
			set(owner.GetField(), made.vpc)
		case owner.GetField() != "":
			set(owner.GetField(), "x-1")
		}
		if owner.GetKindField() != "" {
			set(owner.GetKindField(), "SlbInstance")
		}
	}
	if verb == unbind {
		set("instance_id", "x-1")
	}
	// The guard knows requests by their methods, which dynamic messages lack.
	return typed(request, made)
}

// typed makes a request of the generated type, with tags and a VPC if it makes something.
func typed(request *dynamicpb.Message, made marking) proto.Message {
	wire, err := proto.Marshal(request)
	if err != nil {
		panic(err)
	}
	kind, err := protoregistry.GlobalTypes.FindMessageByName(request.Descriptor().FullName())
	if err != nil {
		panic(err)
	}
	message := kind.New().Interface()
	if err := proto.Unmarshal(wire, message); err != nil {
		panic(err)
	}
	m := message.ProtoReflect()
	fields := m.Descriptor().Fields()
	if f := fields.ByName("tags"); f != nil && f.IsList() {
		for _, t := range made.tags {
			m.Mutable(f).List().Append(protoreflect.ValueOfMessage(t.ProtoReflect()))
		}
	}
	if f := fields.ByName("name"); f != nil && fields.ByName("tags") == nil && fields.ByName("certificate_pem") != nil {
		m.Set(f, protoreflect.ValueOfString(nameFor(made.tags)))
	}
	if f := fields.ByName("vswitch_id"); f != nil && !m.Has(f) && f.Kind() == protoreflect.StringKind {
		m.Set(f, protoreflect.ValueOfString("vsw-1"))
	}
	if f := fields.ByName("vpc_id"); f != nil && !m.Has(f) {
		m.Set(f, protoreflect.ValueOfString(made.vpc))
	}
	return message
}

// callers of the table, with what their ClusterRoles allow; nil: everything.
func callers(t *testing.T) (names []string, roles map[string]map[string]bool) {
	t.Helper()
	roles = map[string]map[string]bool{}
	for _, component := range []string{"lbcontroller", "nodecontroller", "routecontroller"} {
		names = append(names, component)
		roles[component] = granted(t, component)
	}
	return append(names, "a tool with a scope clusterID", "a tool with a scope vpcIDs"), roles
}

// granted are the verbs and resources that a controller's ClusterRole in the chart allows.
func granted(t *testing.T, component string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "chart", "files", "rbac", component+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for document := range strings.SplitSeq(string(text), "\n---") {
		var role struct {
			Rules []struct{ APIGroups, Resources, Verbs []string }
		}
		if err := yaml.Unmarshal([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					if slices.Contains(rule.APIGroups, "cloudgateway.alibabacloud.com") {
						allowed[verb+" "+resource] = true
					}
				}
			}
		}
	}
	return allowed
}

// guardOfTable has the scopes of the chart, and those of two tools.
func guardOfTable(t *testing.T, now *marking) *Guard {
	t.Helper()
	path := filepath.Join(t.TempDir(), "gateway.yaml")
	text := `{region: cn-hangzhou, tls: {certFile: a, keyFile: b}, credentials: {ecsRAMRole: {}}, scopeControllers: true, clusterID: ` +
		ownCluster + `, vpcID: ` + ownVPC + `, scopes: [{callers: [a tool with a scope clusterID], clusterID: ` + ownCluster +
		`}, {callers: [a tool with a scope vpcIDs], vpcIDs: [` + ownVPC + `]}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, warnings, err := config.Load(path, "", func(string) string { return "" })
	if err != nil || len(warnings) > 0 {
		t.Fatal(err, warnings)
	}
	var owners []cloud.Owner
	for _, m := range method.All() {
		for _, owner := range m.Options.GetOwners() {
			if kind := Kind(owner.GetKind()); kind != "" {
				owners = append(owners, kindOwner{kind, now})
			}
		}
	}
	return New(cfg.Scopes, append(owners, kindOwner{Network, now}, kindOwner{VSwitch, now}), nil)
}

// may reports what becomes of a method's request.
func may(t *testing.T, caller string, m method.Method, verb string, role map[string]bool, mark marking) string {
	t.Helper()
	narrow := m.Options.GetNarrow().GetResource()
	if role != nil && !role[m.Verb()+" "+m.Options.GetResource()] && (narrow == "" || !role[m.Verb()+" "+narrow]) {
		return "–"
	}
	g := guardOfTable(t, &mark)
	name := caller
	if role != nil {
		name = namespace + caller
	}
	_, err := g.Intercept(rpc.WithCaller(t.Context(), rpc.Caller{Name: name}), requestOf(m, verb, mark),
		&grpc.UnaryServerInfo{FullMethod: m.FullName()}, func(context.Context, any) (any, error) { return struct{}{}, nil })
	switch {
	case err == nil:
		return "yes"
	case rpcerr.ReasonOf(err) == rpcerr.CallerForbidden:
		return "no"
	}
	t.Errorf("%s of %s: %v", m.FullName(), caller, err)
	return "?"
}

// TestTable writes down who may do what: kind, verb, mark and caller. What came out is docs/reference/scopes.md.
func TestTable(t *testing.T) {
	order, methods := rows()
	names, roles := callers(t)
	var page strings.Builder
	page.WriteString(tableHead)
	for _, caller := range names {
		fmt.Fprintf(&page, "\n## %s\n\n| what | verb |", strings.ToUpper(caller[:1])+caller[1:])
		for _, mark := range markings() {
			page.WriteString(" " + mark.name + " |")
		}
		page.WriteString("\n|---|---|" + strings.Repeat("---|", len(markings())) + "\n")
		for _, row := range order {
			cells := make([]string, 0, len(markings()))
			for _, mark := range markings() {
				cells = append(cells, cellOf(t, caller, row, methods[row], roles[caller], mark))
			}
			if role := roles[caller]; role != nil && !slices.ContainsFunc(cells, func(c string) bool { return c != "–" }) {
				continue
			}
			fmt.Fprintf(&page, "| %s | %s | %s |\n", row.what, row.verb, strings.Join(cells, " | "))
		}
	}
	path := filepath.Join("..", "..", "..", "docs", "reference", "scopes.md")
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(published), page.String()); diff != "" {
		t.Errorf("run the test with -update and review the change (-page +got):\n%s", diff)
	}
}

// cellOf is what all methods of a row have in common.
func cellOf(t *testing.T, caller string, row tableRow, methods []method.Method, role map[string]bool, mark marking) string {
	t.Helper()
	cell := ""
	for _, m := range methods {
		got := may(t, caller, m, row.verb, role, mark)
		if got == "–" && len(methods) > 1 {
			continue
		}
		if cell != "" && cell != got {
			t.Errorf("%s, %s: %s has %s, and the others of its row %s", caller, mark.name, m.FullName(), got, cell)
		}
		cell = got
	}
	if cell == "" {
		cell = "–"
	}
	return cell
}

const tableHead = `# Who may change what

Written by ` + "`go test ./internal/scope -run TestTable -update`" + ` in cloudgateway. It is what the scopes of the chart allow
(` + "`scopes.controllers: true`" + `), and those of two tools, by the kind of resource, the verb, and whose the resource is: by its tag
` + "`" + ClusterTag + "`" + `, and the existing CCM's ` + "`" + ServiceTag + "`" + `. For a creation these are the tags in the
request. Of the controllers, only what their ClusterRoles in the chart allow is shown; that of nodecontroller allows the
source/destination check of a network interface and none of its other attributes. A caller in no scope may do whatever its
ClusterRole allows. [ADR 9](../adr/0009-scopes.md) has the reasons.
`
