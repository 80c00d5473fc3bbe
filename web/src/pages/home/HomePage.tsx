import { useTranslation } from 'react-i18next';
import { AnswerLine, Page } from '../../components/Page';
import { useMe } from '../../api/session';

export default function HomePage() {
  const { t } = useTranslation();
  const me = useMe();
  return <Page title={t('menu.home')} live scoped answer={<AnswerLine>{t('profile.account.answer', { name: me.display_name })}</AnswerLine>} />;
}
