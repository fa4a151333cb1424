package gateway

import (
	"context"
	"testing"

	"google.golang.org/grpc"

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
			client := &Client{Capabilities: capabilities{vpc: tt.own}}
			got, err := client.VPC(t.Context(), tt.configured)
			if got != tt.want || (err != nil) != (tt.wantErr != "") || err != nil && err.Error() != tt.wantErr {
				t.Errorf("VPC = %q, %v, want %q, %q", got, err, tt.want, tt.wantErr)
			}
		})
	}
}

// capabilities answers with a VPC.
type capabilities struct{ vpc string }

func (c capabilities) GetCapabilities(context.Context, *commonv1.GetCapabilitiesRequest, ...grpc.CallOption,
) (*commonv1.GetCapabilitiesResponse, error) {
	return &commonv1.GetCapabilitiesResponse{VpcId: c.vpc}, nil
}
