package gateway

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"

	"alicloud-controllers.dev/proto/client"
	commonv1 "alicloud-controllers.dev/proto/cloudgateway/common/v1"
)

func TestVPC(t *testing.T) {
	tests := []struct{ name, configured, own, want, wantErr string }{
		{name: "configured", configured: "vpc-1", own: "vpc-2", want: "vpc-1"},
		{name: "the gateway's", own: "vpc-2", want: "vpc-2"},
		{name: "nobody knows", wantErr: "the gateway does not know its VPC; set vpcID in the configuration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			gateway := &Client{&client.Client{Capabilities: &capabilities{answer: &commonv1.GetCapabilitiesResponse{VpcId: tt.own}}}}
			got, err := gateway.VPC(t.Context(), tt.configured)
			if got != tt.want || (err != nil) != (tt.wantErr != "") || err != nil && err.Error() != tt.wantErr {
				t.Errorf("VPC = %q, %v, want %q, %q", got, err, tt.want, tt.wantErr)
			}
		})
	}
}

func TestRegion(t *testing.T) {
	tests := []struct{ name, configured, own, want, wantErr string }{
		{name: "configured", configured: "cn-hangzhou", own: "cn-beijing", want: "cn-hangzhou"},
		{name: "the gateway's", own: "cn-beijing", want: "cn-beijing"},
		{name: "nobody knows", wantErr: "the gateway does not know its region; set region in the configuration"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			gateway := &Client{&client.Client{Capabilities: &capabilities{answer: &commonv1.GetCapabilitiesResponse{RegionId: tt.own}}}}
			got, err := gateway.Region(t.Context(), tt.configured)
			if got != tt.want || (err != nil) != (tt.wantErr != "") || err != nil && err.Error() != tt.wantErr {
				t.Errorf("Region = %q, %v, want %q, %q", got, err, tt.want, tt.wantErr)
			}
		})
	}
}

// TestAwaitRegion: who can't begin without the region asks until the gateway answers.
func TestAwaitRegion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := &capabilities{refusals: 3, answer: &commonv1.GetCapabilitiesResponse{RegionId: "cn-beijing"}}
		gateway := &Client{&client.Client{Capabilities: fake}}
		failures := 0
		got, err := gateway.AwaitRegion(t.Context(), "", func(error) { failures++ })
		if got != "cn-beijing" || err != nil || fake.calls != 4 || failures != 3 {
			t.Errorf("AwaitRegion = %q, %v after %d calls, %d failures reported", got, err, fake.calls, failures)
		}
		ctx, cancel := context.WithTimeout(t.Context(), regionRetry)
		defer cancel()
		fake.refusals = 100
		if _, err := gateway.AwaitRegion(ctx, "", func(error) {}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("AwaitRegion ends with %v", err)
		}
	})
}

// capabilities answers after some refusals.
type capabilities struct {
	answer   *commonv1.GetCapabilitiesResponse
	refusals int
	calls    int
}

func (c *capabilities) GetCapabilities(context.Context, *commonv1.GetCapabilitiesRequest, ...grpc.CallOption,
) (*commonv1.GetCapabilitiesResponse, error) {
	if c.calls++; c.calls <= c.refusals {
		return nil, errors.New("refused")
	}
	return c.answer, nil
}
