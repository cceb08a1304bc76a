// Every rule's function, one a file beside this one. Each looks at the whole
// subject and adds findings under its own id, or says why it could not look.
#pragma once

#include "audit/report.hpp"
#include "audit/subject.hpp"

namespace refrain {

void check_rf101(const SubjectView& view, Report& report);
void check_rf102(const SubjectView& view, Report& report);
void check_rf103(const SubjectView& view, Report& report);
void check_rf104(const SubjectView& view, Report& report);
void check_rf105(const SubjectView& view, Report& report);
void check_rf106(const SubjectView& view, Report& report);
void check_rf201(const SubjectView& view, Report& report);
void check_rf202(const SubjectView& view, Report& report);
void check_rf203(const SubjectView& view, Report& report);
void check_rf204(const SubjectView& view, Report& report);
void check_rf205(const SubjectView& view, Report& report);
void check_rf206(const SubjectView& view, Report& report);
void check_rf207(const SubjectView& view, Report& report);
void check_rf208(const SubjectView& view, Report& report);
void check_rf209(const SubjectView& view, Report& report);
void check_rf301(const SubjectView& view, Report& report);
void check_rf302(const SubjectView& view, Report& report);
void check_rf303(const SubjectView& view, Report& report);
void check_rf304(const SubjectView& view, Report& report);
void check_rf305(const SubjectView& view, Report& report);
void check_rf306(const SubjectView& view, Report& report);
void check_rf307(const SubjectView& view, Report& report);
void check_rf308(const SubjectView& view, Report& report);
void check_rf309(const SubjectView& view, Report& report);
void check_rf310(const SubjectView& view, Report& report);
void check_rf311(const SubjectView& view, Report& report);
void check_rf401(const SubjectView& view, Report& report);
void check_rf402(const SubjectView& view, Report& report);
void check_rf403(const SubjectView& view, Report& report);
void check_rf404(const SubjectView& view, Report& report);
void check_rf405(const SubjectView& view, Report& report);
void check_rf406(const SubjectView& view, Report& report);
void check_rf407(const SubjectView& view, Report& report);
void check_rf408(const SubjectView& view, Report& report);
void check_rf409(const SubjectView& view, Report& report);
void check_rf410(const SubjectView& view, Report& report);
void check_rf501(const SubjectView& view, Report& report);
void check_rf502(const SubjectView& view, Report& report);
void check_rf503(const SubjectView& view, Report& report);
void check_rf504(const SubjectView& view, Report& report);
void check_rf505(const SubjectView& view, Report& report);
void check_rf506(const SubjectView& view, Report& report);
void check_rf601(const SubjectView& view, Report& report);
void check_rf602(const SubjectView& view, Report& report);
void check_rf603(const SubjectView& view, Report& report);
void check_rf604(const SubjectView& view, Report& report);
void check_rf605(const SubjectView& view, Report& report);
void check_rf606(const SubjectView& view, Report& report);
void check_rf607(const SubjectView& view, Report& report);
void check_rf701(const SubjectView& view, Report& report);
void check_rf702(const SubjectView& view, Report& report);
void check_rf703(const SubjectView& view, Report& report);
void check_rf704(const SubjectView& view, Report& report);
void check_rf705(const SubjectView& view, Report& report);
void check_rf706(const SubjectView& view, Report& report);
void check_rf707(const SubjectView& view, Report& report);
void check_rf801(const SubjectView& view, Report& report);
void check_rf802(const SubjectView& view, Report& report);
void check_rf803(const SubjectView& view, Report& report);
void check_rf804(const SubjectView& view, Report& report);
void check_rf901(const SubjectView& view, Report& report);
void check_rf902(const SubjectView& view, Report& report);
void check_rf903(const SubjectView& view, Report& report);
void check_rf904(const SubjectView& view, Report& report);

}  // namespace refrain
