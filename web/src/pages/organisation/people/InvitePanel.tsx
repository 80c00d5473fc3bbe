import { useQuery } from '@tanstack/react-query';
import { Segmented } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMay } from '../../../api/session';
import { SidePanel } from '../../../components/SidePanel';
import { SkeletonRows } from '../../../components/States';
import { invitationsQuery } from '../queries';
import { useUsualStart } from '../usual-start';
import { InviteByLink } from './InviteByLink';
import { JoinCodes } from './JoinCodes';
import { NewAccount } from './NewAccount';
import { OpenInvitations } from './OpenInvitations';

const kinds = ['link', 'code', 'account', 'open'] as const;

/** The ways in: a link for one person, a code for many, an account made here; and what is still open. */
export function InvitePanel({
  kind,
  onKind,
  onClose,
}: {
  kind: string;
  onKind: (kind: string) => void;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const manages = useMay()('people.manage');
  const { data: invitations } = useQuery(invitationsQuery);
  const offered = kinds.filter((one) => one !== 'account' || manages);
  const shown = offered.find((one) => one === kind) ?? 'link';
  const start = useUsualStart(shown === 'account' ? 'people.manage' : 'people.invite');
  const label = (one: (typeof kinds)[number]) =>
    one === 'open' && invitations?.length
      ? t('people.invite.openCount', { count: invitations.length })
      : t(`people.invite.kinds.${one}`);
  return (
    <SidePanel title={t('people.invite.title')} subtitle={t(`people.invite.notes.${shown}`)} onClose={onClose}>
      <Segmented
        className="pick"
        aria-label={t('people.invite.title')}
        value={shown}
        onChange={onKind}
        options={offered.map((value) => ({ value, label: label(value) }))}
      />
      {!start.ready && <SkeletonRows rows={4} height={56} />}
      {start.ready && shown === 'link' && <InviteByLink start={start} />}
      {start.ready && shown === 'code' && <JoinCodes start={start} />}
      {start.ready && shown === 'account' && <NewAccount start={start} />}
      {shown === 'open' && <OpenInvitations />}
    </SidePanel>
  );
}
