package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"alicloud-controllers.dev/proto/method"
)

const protoPath = "alicloud-controllers.dev/proto/cloudgateway/"

// reader type-checks packages as far as the messages of the API go: of all that they import it knows these only, so that it takes no time.
type reader struct {
	t     *testing.T
	files *token.FileSet
	known map[string]*types.Package
	done  map[string]bool // directories
	read  map[string]bool // as "nlbv1.CreateServerGroupRequest.Name"
	ofAny map[string]bool // as "RequestId": read of whatever message has it, by an interface
}

// Import implements types.Importer. What is no message stays unknown.
func (r *reader) Import(path string) (*types.Package, error) {
	if p := r.known[path]; p != nil {
		return p, nil
	}
	name := path[strings.LastIndex(path, "/")+1:]
	if rest, ok := strings.CutPrefix(path, protoPath); ok {
		r.known[path] = r.check(path, filepath.Join("..", "..", "..", "proto", "cloudgateway", rest), nil)
	} else {
		r.known[path] = types.NewPackage(path, name)
		r.known[path].MarkComplete()
	}
	return r.known[path], nil
}

// check type-checks what is in a directory, without tests.
func (r *reader) check(path, dir string, info *types.Info) *types.Package {
	r.t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		r.t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_grpc.pb.go") {
			continue
		}
		file, err := parser.ParseFile(r.files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			r.t.Fatal(err)
		}
		files = append(files, file)
	}
	config := types.Config{Importer: r, Error: func(error) {}} // Most of what it imports is unknown.
	p, _ := config.Check(path, r.files, files, info)
	if info != nil {
		r.collect(files, info)
	}
	return p
}

// collect keeps which fields of messages are read, and not those that are filled.
func (r *reader) collect(files []*ast.File, info *types.Info) {
	filled := map[ast.Expr]bool{}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.AssignStmt:
				for _, to := range n.Lhs {
					filled[to] = true
				}
			case *ast.UnaryExpr:
				filled[n.X] = filled[n.X] || n.Op == token.AND
			}
			return true
		})
	}
	for selector, selection := range info.Selections {
		name := selection.Recv().String()
		_, message, isMessage := strings.Cut(name, protoPath)
		field := strings.TrimPrefix(selection.Obj().Name(), "Get")
		switch {
		case filled[selector]:
		case types.IsInterface(selection.Recv()):
			r.ofAny[field] = true
		case isMessage:
			r.read[strings.ReplaceAll(message, "/", "")+"."+field] = true
		}
	}
}

// sends looks whether each field of a request that changes something, and of the messages in it, is read as a field of that message, where
// requests of the product are carried out. So a creation that lacks what the update sends is seen.
func (s source) sends() {
	s.t.Helper()
	r := &reader{t: s.t, files: token.NewFileSet(), known: map[string]*types.Package{}, done: map[string]bool{},
		read: map[string]bool{}, ofAny: map[string]bool{}}
	for _, pattern := range []string{"../*/*/service.go", "../*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			s.t.Fatal("no resources", err)
		}
		for _, file := range files {
			if dir := filepath.Dir(file); !r.done[dir] && filepath.Base(dir) != "server" {
				r.done[dir] = true
				r.check(dir, dir, &types.Info{Selections: map[*ast.SelectorExpr]*types.Selection{}})
			}
		}
	}
	// Those of CLB's listeners and forwarding rules stand in tables by their names in the proto.
	for _, found := range regexp.MustCompile(`Field: +"([a-z_.0-9]+)"`).FindAllStringSubmatch(s.all("cloudgateway/internal/slb/*/*.go"), -1) {
		for part := range strings.SplitSeq(found[1], ".") {
			for _, message := range []string{"ListenerConfig", "HealthCheck", "ForwardingRuleConfig"} {
				r.read["slbv1."+message+"."+goName(part)] = true
			}
		}
	}
	onlyAnswered := []string{ // A caller may send back what it has read.
		"nlbv1.Server.ZoneId", "nlbv1.ZoneMapping.Ipv6Address", "nlbv1.ZoneMapping.NetworkInterfaceId", "nlbv1.ZoneMapping.PublicIpv4Address",
		"vpcv1.RouteEntry.Type",
	}
	seen := map[protoreflect.FullName]bool{}
	for _, m := range method.All() {
		if m.Reads() {
			continue
		}
		for _, name := range fieldsIn(m.Descriptor.Input(), seen) {
			field := name[strings.LastIndex(name, ".")+1:]
			if !r.read[name] && !r.ofAny[field] && !slices.Contains(onlyAnswered, name) {
				product, _, _ := strings.Cut(name, "v1.")
				s.t.Errorf("cloudgateway/internal/%s: the field %s is not sent", product, name)
			}
		}
	}
}

// fieldsIn are the fields of a message of a product and of those in it, as [reader] has them.
func fieldsIn(m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) (list []string) {
	product, isOurs := strings.CutPrefix(string(m.ParentFile().Package()), "cloudgateway.")
	if seen[m.FullName()] || !isOurs || strings.HasPrefix(product, "common.") {
		return nil
	}
	seen[m.FullName()] = true
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		list = append(list, strings.ReplaceAll(product, ".", "")+"."+string(m.Name())+"."+goName(string(f.Name())))
		if f.Message() != nil {
			list = append(list, fieldsIn(f.Message(), seen)...)
		}
	}
	return list
}
