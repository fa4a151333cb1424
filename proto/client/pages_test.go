package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"google.golang.org/grpc"

	ecsv1 "alicloud-controllers.dev/proto/cloudgateway/ecs/v1"
)

// TestAll: all parts of a list are asked for, none before it is needed, and an error ends the list.
func TestAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name       string
		size       int32 // of a part, as the caller wants it
		fails      string
		leaves     int // after so many items; 0: never
		want       []string
		wantTokens []string
	}{
		{name: "all", want: []string{"i-0", "i-1", "i-2", "i-3"}, wantTokens: []string{"", "1", "2"}},
		{name: "a size", size: 7, want: []string{"i-0", "i-1", "i-2", "i-3"}, wantTokens: []string{"", "1", "2"}},
		{name: "an error", fails: "1", want: []string{"i-0", "i-1"}, wantTokens: []string{"", "1"}},
		{name: "enough", leaves: 1, want: []string{"i-0"}, wantTokens: []string{""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var tokens []string
			list := func(_ context.Context, r *ecsv1.ListInstancesRequest, _ ...grpc.CallOption) (*ecsv1.ListInstancesResponse, error) {
				if want := max(tt.size, 0); r.GetVpcId() != "vpc-1" || want != 0 && r.GetPageSize() != want || r.GetPageSize() == 0 {
					t.Errorf("asked for %v", r)
				}
				tokens = append(tokens, r.GetPageToken())
				if tt.fails != "" && r.GetPageToken() == tt.fails {
					return nil, errors.New("refused")
				}
				switch r.GetPageToken() {
				case "":
					return &ecsv1.ListInstancesResponse{Instances: []*ecsv1.Instance{{InstanceId: "i-0"}, {InstanceId: "i-1"}}, NextPageToken: "1"}, nil
				case "1":
					return &ecsv1.ListInstancesResponse{NextPageToken: "2"}, nil // All that was in it is gone.
				}
				return &ecsv1.ListInstancesResponse{Instances: []*ecsv1.Instance{{InstanceId: "i-2"}, {InstanceId: "i-3"}}}, nil
			}
			request := &ecsv1.ListInstancesRequest{VpcId: "vpc-1", PageSize: tt.size}
			before := fmt.Sprint(request)
			var got []string
			var failed error
			for instance, err := range All(t.Context(), list, request, (*ecsv1.ListInstancesResponse).GetInstances) {
				if err != nil {
					failed = err
					continue
				}
				if got = append(got, instance.GetInstanceId()); len(got) == tt.leaves {
					break
				}
			}
			if !slices.Equal(got, tt.want) || !slices.Equal(tokens, tt.wantTokens) || (failed != nil) != (tt.fails != "") {
				t.Errorf("got %q, %v with the tokens %q; want %q with %q", got, failed, tokens, tt.want, tt.wantTokens)
			}
			if fmt.Sprint(request) != before {
				t.Errorf("the request became %v", request)
			}
		})
	}
}
