package ownership

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParseClaims(t *testing.T) {
	t.Parallel()
	for note, want := range map[string]Claims{
		"":     nil,
		" , /": nil,
		"lb 1,/rsp-1,lb-1/,lb-1/rsp 1,lb-1/a/b,l\u00e4b": nil,
		"lb-1": {{LoadBalancer: "lb-1"}},
		"lb-2/listeners, lb-1/rsp-2,lb-1 ,lb-1/rsp-1,lb-1/rsp-2": {
			{LoadBalancer: "lb-1", Groups: []string{"rsp-1", "rsp-2"}}, {LoadBalancer: "lb-2", Listeners: true},
		},
	} {
		if diff := cmp.Diff(want, ParseClaims(note)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", note, diff)
		}
	}
}

func TestClaimProperties(t *testing.T) {
	t.Parallel()
	group := rapid.StringMatching(`rsp-[1-3]`)
	claim := rapid.Custom(func(t *rapid.T) Claim {
		return Claim{LoadBalancer: rapid.StringMatching(`lb-[1-3]`).Draw(t, "lb"), Listeners: rapid.Bool().Draw(t, "listeners"),
			Groups: rapid.SliceOfN(group, 0, 3).Draw(t, "groups")}
	})
	rapid.Check(t, func(t *rapid.T) {
		var claims Claims
		for _, c := range rapid.SliceOfN(claim, 0, 5).Draw(t, "claims") {
			before := claims.String()
			with := claims.With(c)
			if claims.String() != before || !with.Has(c.LoadBalancer) || claims.Has(c.LoadBalancer) != (len(with) == len(claims)) {
				t.Fatalf("%q with %v is %q", before, c, with)
			}
			claims = with
		}
		if diff := cmp.Diff(claims, ParseClaims(claims.String())); diff != "" {
			t.Fatalf("what is read differs from what was written (-written +read):\n%s", diff)
		}
		for _, c := range claims {
			if rest := claims.Without(c.LoadBalancer); rest.Has(c.LoadBalancer) || len(rest) != len(claims)-1 {
				t.Fatalf("%q without %s is %q", claims, c.LoadBalancer, rest)
			}
			if diff := cmp.Diff(c, claims.Of(c.LoadBalancer)); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}
