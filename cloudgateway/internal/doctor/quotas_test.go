package doctor

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"alicloud-controllers.dev/cloudgateway/internal/openapi"
)

// quotaCenter answers with one page after the other.
type quotaCenter struct{ pages, asked []string }

func (q *quotaCenter) Do(_ context.Context, call openapi.Call, out any) (openapi.Result, error) {
	page := q.pages[len(q.asked)]
	q.asked = append(q.asked, call.Form["Dimensions.1.Key"]+" "+call.Form["Dimensions.1.Value"]+" "+call.Form["NextToken"])
	return openapi.Result{}, json.Unmarshal([]byte(page), out)
}

// TestQuotasOfTheRegion: a limit of another region is none of those that the gateway keeps to, should Quota Center answer
// with all though it was asked for one region. All pages are read.
func TestQuotasOfTheRegion(t *testing.T) {
	t.Parallel()
	center := &quotaCenter{pages: []string{
		`{"NextToken": "more", "Quotas": [{"QuotaActionCode": "Own", "Dimensions": {"regionId": "cn-hangzhou"}},
			{"QuotaActionCode": "Other", "Dimensions": {"regionId": "cn-beijing"}}]}`,
		`{"Quotas": [{"QuotaActionCode": "All", "Dimensions": {"regionId": "*"}}, {"QuotaActionCode": "None"}]}`,
	}}
	x := &examination{caller: center}
	x.OpenAPI.Region = "cn-hangzhou"
	quotas, err := x.quotas(t.Context(), openapi.SLB)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, q := range quotas {
		codes = append(codes, q.code)
	}
	if diff := cmp.Diff([]string{"Own", "All", "None"}, codes); diff != "" {
		t.Errorf("quotas (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"regionId cn-hangzhou ", "regionId cn-hangzhou more"}, center.asked); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
}
