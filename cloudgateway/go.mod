module alicloud-controllers.dev/cloudgateway

go 1.26.0

require (
	alicloud-controllers.dev/proto v0.0.0
	alicloud-controllers.dev/services v0.0.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	k8s.io/api v0.36.3
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
	github.com/google/go-cmp v0.7.0
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0
	github.com/aliyun/alibaba-cloud-sdk-go v1.63.107
	github.com/hashicorp/go-retryablehttp v0.7.8
	github.com/grpc-ecosystem/go-grpc-middleware/v2 v2.3.4
	github.com/prometheus/client_golang v1.25.0
	golang.org/x/sync v0.24.0
	golang.org/x/time v0.16.0
)

replace (
	alicloud-controllers.dev/proto => ../proto
	alicloud-controllers.dev/services => ../services
)
