module alicloud-controllers.dev/deploy

go 1.26.0

require (
	alicloud-controllers.dev/proto v0.0.0
	alicloud-controllers.dev/services v0.0.0
	alicloud-controllers.dev/cloudgateway v0.0.0
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	k8s.io/api v0.36.3
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
	github.com/google/go-cmp v0.7.0
	sigs.k8s.io/yaml v1.6.0
)

replace (
	alicloud-controllers.dev/proto => ../proto
	alicloud-controllers.dev/services => ../services
	alicloud-controllers.dev/cloudgateway => ../cloudgateway
)
