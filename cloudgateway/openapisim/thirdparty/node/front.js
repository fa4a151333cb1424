'use strict';

// The clients in JavaScript through the OpenAPI front of a gateway: both versions of the signature.

const assert = require('node:assert');
const test = require('node:test');
const Pop = require('@alicloud/pop-core');
const { default: Rpc } = require('@alicloud/rpc-client');
const $OpenApi = require('@alicloud/openapi-core');
const $Ecs = require('@alicloud/ecs20140526');

const { keys, region } = require('./account');

const endpoint = process.env.FRONT;

for (const method of ['GET', 'POST']) {
  test(`pop-core makes, finds and deletes a load balancer by ${method}`, async () => {
    const client = new Pop({ ...keys, endpoint: `https://${endpoint}`, apiVersion: '2014-05-15' });
    const call = (action, params) => client.request(action, { RegionId: region, ...params }, { method, timeout: 20000 });
    const { LoadBalancerId } = await call('CreateLoadBalancer', { LoadBalancerName: `ü!'()*~+ ${method}`, AddressType: 'internet', InstanceChargeType: 'PayByCLCU' });
    const found = await call('DescribeLoadBalancers', { LoadBalancerId });
    assert.deepStrictEqual(found.LoadBalancers.LoadBalancer.map((lb) => lb.LoadBalancerName), [`ü!'()*~+ ${method}`]);
    await call('DeleteLoadBalancer', { LoadBalancerId });
    const error = await call('DescribeLoadBalancerAttribute', { LoadBalancerId }).then(() => assert.fail('it is there'), (e) => e);
    assert.strictEqual(error.code, 'InvalidLoadBalancerId.NotFound');
  });
}

test('rpc-client sends parameters in query and form', async () => {
  const client = new Rpc({ ...keys, regionId: region, endpoint });
  const call = (action, method, query, body) =>
    client.doRequest(action, 'HTTPS', method, '2014-05-15', 'AK', query, body, { autoretry: false, readTimeout: 20000 });
  const { LoadBalancerId } = await call('CreateLoadBalancer', 'POST', { RegionId: region }, { LoadBalancerName: 'ü*~+', InstanceChargeType: 'PayByCLCU' });
  const shown = await call('DescribeLoadBalancerAttribute', 'GET', { RegionId: region, LoadBalancerId }, null);
  assert.strictEqual(shown.LoadBalancerName, 'ü*~+');
  await call('DeleteLoadBalancer', 'POST', { RegionId: region }, { LoadBalancerId });
});

test('the generated client finds instances, and is refused what RBAC does not allow', async () => {
  const client = new $Ecs.default(new $OpenApi.$OpenApiUtil.Config({ ...keys, regionId: region, endpoint }));
  const { body } = await client.describeInstances(new $Ecs.DescribeInstancesRequest({ regionId: region, pageSize: 10 }));
  assert.ok(body.totalCount > 0);
  const none = await client.describeInstances(new $Ecs.DescribeInstancesRequest({ regionId: region, instanceIds: '["i-x"]' }));
  assert.strictEqual(none.body.totalCount, 0);
  const error = await client.stopInstance(new $Ecs.StopInstanceRequest({ instanceId: 'i-1' })).then(() => assert.fail('not refused'), (e) => e);
  assert.strictEqual(error.code, 'Forbidden.RAM');
  assert.strictEqual(error.statusCode, 403);
});
