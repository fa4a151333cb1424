package app

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"alicloud-controllers.dev/services/kube"
	"alicloud-controllers.dev/services/version"

	"alicloud-controllers.dev/lbcontroller/internal/config"
	"alicloud-controllers.dev/lbcontroller/internal/convert"
	"alicloud-controllers.dev/lbcontroller/internal/nlb"
)

// Convert makes of a Service with a CLB one of an NLB, or of any Service a Gateway with its routes, as text. It reads the Service and
// writes nothing.
func Convert(ctx context.Context, cfg config.Config, which Selection, toGateway bool) ([]byte, error) {
	client, err := kube.NewClient(cfg.Kubernetes, Name+"-convert/"+version.String())
	if err != nil {
		return nil, err
	}
	return ConvertService(ctx, client, which, toGateway)
}

// ConvertService is Convert with a client.
func ConvertService(ctx context.Context, client kubernetes.Interface, which Selection, toGateway bool) ([]byte, error) {
	svc, err := client.CoreV1().Services(which.Namespace).Get(ctx, which.Service, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("there is no Service %s/%s", which.Namespace, which.Service)
	}
	if err != nil {
		return nil, fmt.Errorf("read the Service: %w", err)
	}
	var result interface{ WriteYAML() ([]byte, error) }
	if toGateway {
		result, err = convert.ToGateway(svc)
	} else {
		result, err = convert.ToNLB(svc, nlb.Class)
	}
	if err != nil {
		return nil, fmt.Errorf("service %s/%s: %w", which.Namespace, which.Service, err)
	}
	return result.WriteYAML()
}
