import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explain } from '../../../src/admin/explain.js';
import { describeReason } from '../../../src/model/reasons.js';
import { brokerEvent, pluginView } from '../../support/fake-admin-port.js';

const SUBJECT = 'DevicePlugin/example.com/gpu';

describe('explain', () => {
  it('gives state, meaning and remedy of the primary incarnation, and lists it first', () => {
    const fallback = pluginView({ primary: false, state: 'ready', reason: 'replaced', socket: '/old.sock' });
    const view = explain(SUBJECT, [fallback, pluginView()], []);
    assert.deepEqual(
      { ...view, plugins: view?.plugins.map(({ socket }) => socket) },
      {
        subject: SUBJECT,
        state: 'ready',
        reason: 'registered',
        why: describeReason('registered').about,
        remedy: describeReason('registered').remedy,
        plugins: [pluginView().socket, '/old.sock'],
        events: [],
      },
    );
  });

  it('adds the sentence of the event that brought a bad state', () => {
    const held = pluginView({ state: 'held', reason: 'connection-lost' });
    const event = brokerEvent({ type: 'state', reason: 'connection-lost', message: 'the peer closed after 3 s' });
    assert.equal(
      explain(SUBJECT, [held], [event])?.why,
      `${describeReason('connection-lost').about} Last: the peer closed after 3 s.`,
    );
  });

  it('tells of a refusal that came after the present state', () => {
    const event = brokerEvent({
      type: 'refused',
      reason: 'CALLER_NOT_ALLOWED',
      time: '2030-01-01T00:00:01.000Z',
      message: 'uid 7',
    });
    assert.match(
      explain(SUBJECT, [pluginView()], [event])?.why ?? '',
      /Since then a registration was refused with CALLER_NOT_ALLOWED: uid 7\.$/,
    );
  });

  it('tells whose refusals came since then where others were refused in its name, and its own beside them', () => {
    const refusal = (seconds: number, reason: string, by?: number): ReturnType<typeof brokerEvent> =>
      brokerEvent({
        ...{ type: 'refused', reason, message: `because of ${reason}`, time: `2030-01-01T00:00:0${seconds}.000Z` },
        ...(by === undefined ? {} : { facts: { by } }),
      });
    const others = [refusal(3, 'NAME_OWNED', 4001), refusal(4, 'ENDPOINT_INVALID', 4001), refusal(5, 'BUSY', 4001)];
    const { about } = describeReason('registered');
    const ofOthers =
      'Since then a registration of uid 4001 was refused with ENDPOINT_INVALID: because of ENDPOINT_INVALID.';
    assert.equal(explain(SUBJECT, [pluginView()], others)?.why, `${about} ${ofOthers}`);
    const own = 'Since then a registration was refused with NO_LISTENER: because of NO_LISTENER.';
    const both = [refusal(2, 'NO_LISTENER'), ...others];
    assert.equal(explain(SUBJECT, [pluginView()], both)?.why, `${about} ${own} ${ofOthers}`);
    assert.equal(explain(SUBJECT, [], both)?.reason, 'NO_LISTENER', 'without an entry, too');
    const rejected = pluginView({ state: 'rejected', reason: 'NO_LISTENER' });
    const why = explain(SUBJECT, [rejected], [refusal(2, 'NO_LISTENER', 4001)])?.why ?? '';
    assert.match(why, /of uid 4001 was refused/);
    assert.doesNotMatch(why, / Last: /);
  });

  it('says until when a plugin is in quarantine, and that this is what to look at unless it serves', () => {
    const quarantinedUntil = '2030-01-01T00:01:00.000Z';
    const lost = explain(SUBJECT, [pluginView({ state: 'held', reason: 'connection-lost', quarantinedUntil })], []);
    const sentence = `Registrations in its name are refused until ${quarantinedUntil} (quarantine).`;
    assert.equal(lost?.why, `${describeReason('connection-lost').about} ${sentence}`);
    assert.equal(lost.remedy, describeReason('QUARANTINED').remedy.replace('NAME', 'example.com/gpu'));
    const serves = explain(SUBJECT, [pluginView({ quarantinedUntil })], []);
    assert.equal(serves?.why, `${describeReason('registered').about} ${sentence}`);
    assert.equal(serves.remedy, describeReason('registered').remedy);
  });

  it('speaks of lists where the strikes of a quarantine are for lists, and of registering where they are for that', () => {
    const quarantined = pluginView({
      ...{ state: 'quarantined', reason: 'quarantine', quarantinedUntil: '2030-01-01T00:01:00.000Z' },
    });
    const events = ['FLOOD_REGISTER', 'update-flood', 'QUARANTINED'].map((reason) =>
      brokerEvent({ type: reason === 'QUARANTINED' ? 'quarantine' : 'flood', reason }),
    );
    const remedy = explain(SUBJECT, [quarantined], events)?.remedy ?? '';
    assert.match(remedy, /^The strikes are for its device lists: .* flood\.updates; the broker pulls the plugin /);
    assert.doesNotMatch(remedy, /registration|NAME/);
    const [register, updates, began] = events;
    assert.ok(register && updates && began);
    assert.match(
      explain(SUBJECT, [quarantined], [updates, register, began])?.remedy ?? '',
      /^Stop the registration loop/,
    );
  });

  it('keeps quiet about a refusal that came before the present state', () => {
    const event = brokerEvent({ type: 'refused', reason: 'NO_LISTENER', time: '2029-12-31T23:59:59.000Z' });
    assert.equal(explain(SUBJECT, [pluginView()], [event])?.why, describeReason('registered').about);
  });

  it('tells of a plugin that was only ever refused from its events', () => {
    const event = brokerEvent({ type: 'refused', reason: 'NAME_INVALID', message: 'the name GPU has no domain' });
    const view = explain(SUBJECT, [], [event]);
    assert.equal(view?.state, 'rejected');
    assert.equal(view.reason, 'NAME_INVALID');
    assert.equal(
      view.why,
      `It never came in. ${describeReason('NAME_INVALID').about} Last: the name GPU has no domain.`,
    );
    assert.equal(view.remedy, describeReason('NAME_INVALID').remedy);
  });

  it('names the mistake of a plugin that was told to wait since then, because it calls again and again', () => {
    const refusal = (reason: string, message: string, time: string): ReturnType<typeof brokerEvent> =>
      brokerEvent({ type: 'refused', reason, message, time });
    const events = [
      refusal('NAME_INVALID', 'the name GPU has no domain', '2030-01-01T00:00:01.000Z'),
      refusal('FLOOD_REGISTER', 'too often', '2030-01-01T00:00:02.000Z'),
      refusal('QUARANTINED', 'kept out', '2030-01-01T00:00:03.000Z'),
    ];
    const view = explain(SUBJECT, [], events);
    const { about, remedy } = describeReason('NAME_INVALID');
    assert.deepEqual(
      [view?.reason, view?.why, view?.remedy],
      ['NAME_INVALID', `It never came in. ${about} Last: the name GPU has no domain. Since then: kept out.`, remedy],
    );
    assert.match(explain(SUBJECT, [pluginView()], events)?.why ?? '', /refused with NAME_INVALID: the name GPU/);
    assert.equal(explain(SUBJECT, [], events.slice(1))?.reason, 'QUARANTINED');
  });

  it('says nothing where nothing is known', () => {
    assert.equal(explain(SUBJECT, [], []), undefined);
  });

  it('answers for a reason that this version does not know', () => {
    assert.match(explain(SUBJECT, [pluginView({ reason: 'constructor' })], [])?.why ?? '', /constructor is not known/);
  });
});
